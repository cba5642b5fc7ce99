// A `cape` process that serves a playground from a folder of its own.

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const CAPE = process.env.CAPE ?? new URL('../../target/debug/cape', import.meta.url).pathname

export class Server {
  static async start(args = ['playground']) {
    const dir = await mkdtemp(join(tmpdir(), 'cape-playground-'))
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CAPE')))
    const child = spawn(CAPE, args, { cwd: dir, env: { ...inherited, HOME: dir }, stdio: ['ignore', 'pipe', 'pipe'] })
    const server = Object.assign(new Server(), { dir, child, log: '' })
    server.ended = new Promise((resolve) => child.once('exit', resolve))
    const url = new Promise((resolve, reject) => {
      const found = (line) => {
        server.log += `${line}\n`
        // the playground prints its address; the proxy logs the one it listens on
        const printed = line.match(/^http:\/\/\S+/)?.[0]
        const logged = line.match(/"address":"([^"]+)"/)?.[1]
        if (printed) resolve(printed)
        if (logged) resolve(`http://${logged}/playground/`)
      }
      createInterface({ input: child.stdout }).on('line', found)
      createInterface({ input: child.stderr }).on('line', found)
      child.once('exit', () => reject(new Error(`cape ended: ${server.log}`)))
      setTimeout(() => reject(new Error(`cape does not start: ${server.log}`)), 60_000).unref()
    })
    server.url = await url
    return server
  }

  async stop() {
    this.child.kill()
    await this.ended
    await rm(this.dir, { recursive: true, force: true })
  }
}
