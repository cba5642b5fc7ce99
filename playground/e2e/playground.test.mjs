// The playground in a real browser. CHROMIUM and CAPE name other binaries; SHOTS is a folder for pictures.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { chromium } from 'playwright-core'

import { Server } from './server.mjs'

const ARGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync']
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser, server

before(async () => {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  browser = await chromium.launch({ executablePath, args: [...ARGS, ...QUIET] })
  server = await Server.start()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

/** A page of its own; whatever it asks must be asked of this server, and nothing may go wrong unseen. */
async function open(url = server.url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 860 }, ...options })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.faults = []
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) page.faults.push(`asked ${request.url()}`)
    if (request.url().includes('?')) page.faults.push(`something stands in the address ${request.url()}`)
  })
  page.on('pageerror', (error) => page.faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') page.faults.push(message.text())
  })
  page.setDefaultTimeout(20_000)
  await page.goto(url)
  return page
}

async function done(page) {
  const stored = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie, location.href])
  assert.deepEqual(stored, [0, 0, '', stored[3]])
  assert.ok(!stored[3].includes('?') && !stored[3].includes('#'), stored[3])
  assert.deepEqual(page.faults, [])
  await page.context().close()
}

const prompt = (page) => page.getByLabel('Your prompt')
const plan = (page) => page.getByRole('group', { name: 'The plan, word by word' })
const released = (page) => page.getByRole('group', { name: 'The release, word by word' })
const release = (page) => page.getByRole('button', { name: 'Release', exact: true }).click()
const counted = async (page) => {
  const said = await page.locator('.session').innerText()
  const [draws, maps] = said.match(/([\d,]+) draws? in (\d+) maps?/).slice(1).map((n) => Number(n.replace(',', '')))
  return { draws, maps }
}

async function accessible(page, what) {
  await page.evaluate(AXE)
  const found = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
  const told = found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' | ')}`)
  assert.deepEqual(told, [], what)
}

async function shot(page, name, options = {}) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`), ...options })
}

test('typing shows the plan and draws nothing', async () => {
  const page = await open()
  const before = await counted(page)
  await prompt(page).fill('')
  await prompt(page).pressSequentially('My son Jonas paid $40.')
  await plan(page).getByRole('button', { name: 'Jonas. Protected: not a common word: it may be a name' }).waitFor()
  await plan(page).getByRole('button', { name: '$40. Protected: an amount of money' }).waitFor()
  await plan(page).getByRole('button', { name: 'son. Ordinary: a common word' }).waitFor()
  assert.equal(await plan(page).innerText(), 'My son Jonas paid $40.')
  assert.match(await page.getByTestId('cost').innerText(), /^5 words, 2 of them protected\./)
  assert.deepEqual(await counted(page), before)
  await prompt(page).fill('the and of')
  await page.getByText('No word of this prompt is protected').waitFor()
  // text stands in its own layout, whatever it is written in
  const odd = 'a 👩‍👩‍👧  Zoë’s\n\n\t- İstanbul <b>&amp;'
  await prompt(page).fill(odd)
  await plan(page).getByRole('button', { name: /^İstanbul/ }).waitFor()
  assert.equal(await plan(page).evaluate((box) => box.textContent), odd)
  await done(page)
})

test('the plan of 200 words follows a key stroke within 50 ms', async () => {
  const page = await open()
  const words = 'My daughter Alice was diagnosed with asthma in London and pays 15 euros'.split(' ')
  await prompt(page).fill(Array.from({ length: 200 }, (_, i) => words[i % words.length]).join(' '))
  await plan(page).getByRole('button').nth(199).waitFor()
  await page.evaluate(() => performance.clearMeasures())
  await prompt(page).press('End')
  for (const key of ' and Rome is far away') {
    await prompt(page).press(key === ' ' ? 'Space' : key)
    await page.waitForTimeout(60)
  }
  const took = await page.evaluate(() => performance.getEntriesByName('cape-plan').map((entry) => entry.duration))
  took.sort((a, b) => a - b)
  console.log(`plan of 200 words: ${took.length} strokes, median ${took[took.length >> 1].toFixed(1)} ms, best ${took[0].toFixed(1)} ms`)
  // other programs can make a stroke slow, and none fast
  assert.ok(took.length >= 10 && took[0] <= 50)
  await done(page)
})

test('a word tells its law, by mouse and by keyboard', async () => {
  const page = await open()
  await plan(page).getByRole('button', { name: /^asthma\./ }).click()
  const details = page.getByRole('region', { name: 'asthma' })
  await details.getByText('because it is a word of illness').waitFor()
  await details.getByRole('cell', { name: 'epilepsy' }).waitFor()
  assert.match(await details.innerText(), /One of its 100 nearest with 97\.\d %/)
  await accessible(page, 'details')
  await page.keyboard.press('Escape')
  await details.waitFor({ state: 'detached' })
  // the chips are one tab stop, and arrows go from word to word
  assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^asthma\./)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'London' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Home')
  assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /^My\./)
  await done(page)
})

test('a release is drawn once; another draw says what it costs and counts', async () => {
  const page = await open()
  await prompt(page).fill('Please ask Ottilie about Marrakesh.')
  const { draws, maps } = await counted(page)
  await release(page)
  await released(page).waitFor()
  const first = await released(page).innerText()
  assert.deepEqual(await counted(page), { draws: draws + 5, maps })
  const originals = page.getByLabel('show originals')
  await originals.check()
  await originals.uncheck()
  await page.getByRole('button', { name: 'Copy release' }).click()
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), first)
  await page.getByRole('button', { name: 'Copy curl' }).click()
  const command = await page.evaluate(() => navigator.clipboard.readText())
  assert.ok(command.startsWith('curl ') && command.includes(JSON.stringify(first).slice(1, -1)) && !command.includes('Ottilie'))
  // the same prompt, edited and back: the same words, and no cost
  await prompt(page).fill('Please ask Ottilie about Marrakesh')
  await release(page)
  await released(page).waitFor()
  assert.equal(`${await released(page).innerText()}.`, first)
  await prompt(page).fill('Please ask Ottilie about Marrakesh.')
  await release(page)
  await released(page).waitFor()
  assert.equal(await released(page).innerText(), first)
  assert.deepEqual(await counted(page), { draws: draws + 5, maps })
  await page.getByRole('button', { name: 'Draw again …' }).click()
  const dialog = page.getByRole('alertdialog')
  assert.match(await dialog.innerText(), /makes 5 new draws and costs ε = 118\.8\d more[^]*will have spent 16 instead of 8[^]*until you like it voids the promise/)
  await dialog.getByRole('button', { name: 'Keep this one' }).click()
  assert.deepEqual(await counted(page), { draws: draws + 5, maps })
  await page.getByRole('button', { name: 'Draw again …' }).click()
  await dialog.getByRole('button', { name: 'Draw again, and count it' }).click()
  await page.getByText('One of these words was drawn more than once').waitFor()
  assert.deepEqual(await counted(page), { draws: draws + 10, maps: maps + 1 })
  await accessible(page, 'released')
  // what it became, and who else could stand there
  await released(page).getByRole('button').nth(2).click()
  await page.getByText('Who else could stand there').waitFor()
  await done(page)
})

test('sliders change the law and what is said of it', async () => {
  const page = await open()
  const meaning = page.getByTestId('meaning')
  await meaning.getByText('stays itself with 2.0 %').waitFor()
  await meaning.getByText('98.8 %').waitFor()
  const path = page.locator('.chart .curve')
  const before = await path.getAttribute('d')
  await page.getByLabel('ε₁, between any two protected words').focus()
  for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowLeft')
  await meaning.getByText('The loss is ε₁ = 4 for a protected word').waitFor()
  assert.notEqual(await path.getAttribute('d'), before)
  await page.getByLabel('k, how many near words').focus()
  await page.keyboard.press('Home')
  await page.getByLabel('ε₁, between any two protected words').focus()
  await page.keyboard.press('End')
  await meaning.getByText('most protected words stay as they are').waitFor()
  await done(page)
})

test('lists hold words, and are saved when asked', async () => {
  const page = await open()
  await prompt(page).fill('Ask Ottilie about the garden.')
  const on = async (word, list) => {
    await plan(page).getByRole('button', { name: new RegExp(`^${word}\\.`) }).click()
    const button = page.getByRole('group', { name: 'Put this word on a list' }).getByRole('button', { name: list })
    await button.click()
    await page.waitForFunction((button) => button.getAttribute('aria-pressed') === 'true', await button.elementHandle())
    await page.keyboard.press('Escape')
  }
  await on('Ottilie', 'Keep')
  await plan(page).getByRole('button', { name: 'Ottilie. Kept: on your list of words to keep' }).waitFor()
  await on('garden', 'Protect')
  await plan(page).getByRole('button', { name: 'garden. Protected: on your list' }).waitFor()
  const lists = page.getByRole('region', { name: 'Your lists' })
  await lists.getByRole('button', { name: 'Copy cape.toml' }).click()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.match(copied, /protect = \["garden"\]\nkeep = \["Ottilie"\]/)
  await lists.getByRole('button', { name: 'Save to cape.toml' }).click()
  await lists.getByText('Saved to cape.toml.').waitFor()
  const saved = await readFile(join(server.dir, 'cape.toml'), 'utf8')
  assert.match(saved, /keep = \["Ottilie"\]/)
  await accessible(page, 'lists')
  await lists.getByRole('button', { name: 'Take Ottilie off the list' }).click()
  await plan(page).getByRole('button', { name: /^Ottilie\. Protected/ }).waitFor()
  await done(page)
})

test('profiles, masking, the paper and an attacker stand side by side', async () => {
  const page = await open()
  page.setDefaultTimeout(180_000)
  await prompt(page).fill('My daughter Alice has asthma.')
  const compare = page.getByRole('region', { name: 'Side by side' })
  await compare.getByText('2 of 5 words protected').first().waitFor()
  await compare.getByText('3 of 5 words protected').waitFor()
  await release(page)
  await compare.getByText('My daughter [WORD] has [WORD].').waitFor()
  await compare.getByRole('button', { name: 'Draw one to compare' }).click()
  await compare.getByText('where ε = 6 was asked for').waitFor()
  await page.getByRole('button', { name: 'Attack this release' }).click()
  await page.getByText('of 2 protected words guessed.').waitFor()
  assert.equal(await page.getByText('left out').count(), 0)
  await accessible(page, 'compared')
  await compare.getByRole('button', { name: 'Use the profile Everything' }).click()
  await plan(page).getByRole('button', { name: /^daughter\. Protected/ }).waitFor()
  // of numbers the attacker expects nothing, and the page says so
  await compare.getByRole('button', { name: 'Use the profile Personal' }).click()
  await prompt(page).fill('My daughter Alice is 12 and has 3 cats.')
  await release(page)
  await page.getByRole('button', { name: 'Attack this release' }).click()
  await page.getByText('of 1 protected word guessed. 2 numbers, dates and addresses left out').waitFor()
  await done(page)
})

test('it fits a phone and a dark room', async () => {
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }
  const page = await open(server.url, phone)
  await plan(page).waitFor()
  await release(page)
  await released(page).waitFor()
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.equal(wide, 0)
  await shot(page, 'phone')
  await accessible(page, 'phone')
  await done(page)
  const dark = await open(server.url, { colorScheme: 'dark' })
  await plan(dark).waitFor()
  const back = await dark.evaluate(() => getComputedStyle(document.body).backgroundColor)
  assert.equal(back, 'rgb(20, 23, 26)')
  await release(dark)
  await released(dark).waitFor()
  await shot(dark, 'dark')
  await accessible(dark, 'dark')
  await done(dark)
})

test('refusals and a server that is gone are told', async () => {
  const own = await Server.start()
  const page = await open(own.url)
  await plan(page).waitFor()
  await prompt(page).fill('Η Άννα έχει άσθμα και πονάει')
  const alert = page.getByRole('alert')
  await alert.getByText('script that the word list does not have').waitFor()
  await prompt(page).fill('Alice has asthma')
  await alert.waitFor({ state: 'detached' })
  await own.stop()
  await prompt(page).press('End')
  await prompt(page).press('s')
  await alert.getByText('Cape does not answer. Is it still running in its terminal?').waitFor()
  await release(page)
  await alert.getByText('Cape does not answer').waitFor()
  assert.equal(await released(page).count(), 0)
  await page.context().close()
  assert.ok(!own.log.includes('Alice') && !own.log.includes('asthma'), own.log)
})

/** A service that answers, and keeps what it read. */
async function serving(answer) {
  const bodies = []
  const service = createServer((request, response) => {
    let body = ''
    request.on('data', (part) => (body += part))
    request.on('end', () => {
      bodies.push(body)
      answer(JSON.parse(body), response)
    })
  })
  await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise((resolve) => service.close(resolve).closeAllConnections())
  return { url: `http://127.0.0.1:${service.address().port}/v1`, bodies, close }
}

/** A service that answers with what it read. */
const upstream = () =>
  serving((asked, response) => {
    const content = `You wrote: ${asked.messages[0].content}`
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }))
  })

/** A model that rewrites every answer to these pieces. */
const extractor = (pieces) =>
  serving((_, response) => {
    response.setHeader('Content-Type', 'text/event-stream')
    for (const content of pieces) response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
    response.end('data: [DONE]\n\n')
  })

test('names are put back in the answer, and a model of one’s own rewrites it', async () => {
  const service = await upstream()
  const model = await extractor(['Dear Ottilie, ', 'all is well.'])
  const args = ['serve', '--playground', '--upstream', service.url, '--listen', '127.0.0.1:0']
  const own = await Server.start([...args, '--extractor-url', model.url])
  const page = await open(own.url)
  // one draw may be a word that cannot be put back; not all of them
  const names = ['Ottilie', 'Konrad', 'Mathilde', 'Leopold', 'Friederike', 'Anselm', 'Giovanni', 'Beatrice', 'Marguerite', 'Ignacio', 'Svetlana', 'Dimitri']
  await prompt(page).fill(`Please write to ${names.join(' and ')} today.`)
  await release(page)
  await released(page).waitFor()
  const form = page.getByRole('region', { name: 'Try it' })
  await form.getByLabel('Model').fill('any')
  await form.getByRole('button', { name: 'Send the release' }).click()
  await form.getByText('Rewritten by your own model').waitFor()
  const [sent, answer, restored, rewritten] = await form.locator('article .sent').allInnerTexts()
  assert.equal(answer, `You wrote: ${sent}`)
  const back = names.filter((name) => restored.includes(name) && !answer.includes(name))
  assert.ok(back.length > 0, restored)
  await form.getByText(/^\d+ put back, on your machine\./).waitFor()
  assert.equal(restored.split(' ').length, answer.split(' ').length)
  assert.equal(rewritten, 'Dear Ottilie, all is well.')
  // the model of one's own had the prompt; the service had the release alone
  assert.ok(model.bodies[0].includes('Ottilie') && !service.bodies.join().includes(back[0]))
  await accessible(page, 'rewritten')
  // a release that is no longer the last is not sent in the place of the one that is shown
  const other = await open(own.url)
  await prompt(other).fill('Please write to Wolfgang.')
  await release(other)
  await released(other).waitFor()
  await done(other)
  await form.getByRole('button', { name: 'Send the release' }).click()
  await form.getByRole('alert').getByText('another was drawn since').waitFor()
  assert.equal(service.bodies.length, 1)
  await page.context().close()
  await own.stop()
  await service.close()
  await model.close()
  assert.ok(!own.log.includes('Ottilie') && !own.log.includes('Wolfgang'), own.log)
})

test('with an upstream the release is sent, paid for and answered', async () => {
  const service = await upstream()
  const args = ['serve', '--playground', '--upstream', service.url, '--listen', '127.0.0.1:0', '--limit-total', '200']
  const own = await Server.start(args)
  const page = await open(own.url)
  await prompt(page).fill('Please write to Ottilie about asthma.')
  await release(page)
  await released(page).waitFor()
  const sent = await released(page).innerText()
  const form = page.getByRole('region', { name: 'Try it' })
  await form.getByLabel('Model').fill('any')
  await form.getByLabel('API key').fill('sk-test')
  await form.getByRole('button', { name: 'Send the release' }).click()
  await form.getByText('What went out').waitFor()
  assert.equal(await form.locator('article .sent').first().innerText(), sent)
  assert.equal(JSON.parse(service.bodies[0]).messages[0].content, sent)
  assert.ok(!service.bodies.join().includes('Ottilie') && !service.bodies.join().includes('asthma'))
  await accessible(page, 'answered')
  // the ledger has it, as counts
  const ledger = page.getByRole('region', { name: 'Ledger' })
  await ledger.getByRole('button', { name: 'Show' }).click()
  await ledger.getByText('1 request with new words, 6 draws, ε = 142.6').waitFor()
  await accessible(page, 'ledger')
  await shot(page, 'ledger', { fullPage: true })
  // the budget is exhausted: nothing is drawn
  await page.getByRole('button', { name: 'Draw again …' }).click()
  await page.getByRole('button', { name: 'Draw again, and count it' }).click()
  await page.getByRole('alert').getByText('nothing was sent').waitFor()
  assert.equal(await released(page).innerText(), sent)
  // the service is gone
  await service.close()
  await form.getByRole('button', { name: 'Send the release' }).click()
  await form.getByRole('alert').getByText('Upstream cannot be reached.').waitFor()
  await page.context().close()
  await own.stop()
  assert.ok(!own.log.includes('Ottilie') && !own.log.includes('sk-test'), own.log)
})

test('a token is asked for where the operator set one', async () => {
  const token = join(server.dir, 'token')
  await writeFile(token, 'open-sesame-open-sesame\n')
  const args = ['serve', '--playground', '--upstream', 'http://127.0.0.1:9/v1', '--listen', '127.0.0.1:0']
  const own = await Server.start([...args, '--token-file', token])
  const page = await open(own.url)
  const given = page.getByLabel('Token of this proxy')
  await given.waitFor()
  await accessible(page, 'locked')
  await given.fill('open-barley-open-barley')
  await page.getByRole('button', { name: 'Open' }).click()
  await page.waitForTimeout(300)
  await given.fill('open-sesame-open-sesame')
  await page.getByRole('button', { name: 'Open' }).click()
  await plan(page).waitFor()
  // the browser itself reports the two refusals
  assert.ok(page.faults.every((fault) => fault.includes('401')), page.faults.join())
  await page.context().close()
  await own.stop()
  assert.ok(!own.log.includes('Alice') && !own.log.includes('sesame'), own.log)
})

test('pictures for the documents', { skip: !process.env.SHOTS }, async () => {
  const page = await open()
  await plan(page).waitFor()
  await page.mouse.move(0, 0)
  const { y } = await page.locator('.session').boundingBox()
  await shot(page, 'playground-plan', { clip: { x: 0, y: 0, width: 1180, height: y - 4 } })
  await release(page)
  await released(page).waitFor()
  await page.getByLabel('show originals').check()
  await released(page).getByRole('button', { name: /asthma/ }).click()
  await page.getByText('Who else could stand there').waitFor()
  await page.waitForTimeout(500)
  const box = await page.locator('.details').boundingBox()
  const top = await page.evaluate(() => window.scrollY)
  await shot(page, 'playground-release', { fullPage: true, clip: { x: 0, y: 0, width: 1180, height: box.y + top + box.height + 16 } })
  const path = join(process.env.SHOTS, 'playground-law.png')
  await page.locator('.understand .two').screenshot({ path })
  await done(page)
})
