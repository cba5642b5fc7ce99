#!/usr/bin/env python3
"""Makes prompts.jsonl: 200 private prompts with labelled details and rules for what an answer must hold.

    python make_prompts.py            writes prompts.jsonl beside this file, after checking it
    python make_prompts.py --check    checks only, and fails if the file differs from what would be written
    python make_prompts.py --card     prints the tables of README.md

Standard library only. The same file comes out every time, byte for byte. README.md says what the fields mean.

How a template is written:
    ⟪…⟫              the instruction
    «a.full»         a private value of the prompt's world (see `world`), labelled by its kind
    «ILLNESS|gout»   a private value written out, with its label
    «firm Foods»     the prompt's firm, of that branch
    ‹key›            text of the case, or a word of the world that is not private: Ms or Mr, he or she
Facts are written "one|other|third": the alternatives of one fact.
"""

import argparse
import collections
import datetime
import hashlib
import json
import pathlib
import random
import re
import sys
import unicodedata

SEED = "cape-prompts-1"
FILE = pathlib.Path(__file__).resolve().parent / "prompts.jsonl"
COUNT = 200
REFUSAL = "I'm sorry, but I can't assist with that."
WORDS = range(25, 111)
LABELS = "PERSON PLACE ORG DATE TIME AMOUNT NUMBER ID EMAIL PHONE ADDRESS ILLNESS DRUG OTHER".split()

# Lists ---------------------------------------------------------------------

# origin: given names of women, of men, surnames
NAMES = {
    "English": ("Harriet Paula Gemma Joanne Tessa", "Nigel Toby Graham Alfie Duncan", "Whitmore Pickering Ashdown Tranter Holloway"),
    "Irish": ("Aoife Niamh Orla Sinéad Maeve", "Cormac Declan Eoin Fergal Ronan", "Gallagher Brennan Tierney Lannigan Mulcahy"),
    "Polish": ("Agnieszka Małgorzata Ewa Zofia Beata", "Krzysztof Łukasz Paweł Marek Tomasz", "Wójcik Zieliński Kaczmarek Mazur Wrona"),
    "Ukrainian": ("Oksana Iryna Halyna Olena Daryna", "Taras Bohdan Mykola Andriy Ostap", "Kovalenko Shevchuk Bondar Melnyk Tkachenko"),
    "German": ("Anneliese Heike Ulrike Birgit Käthe", "Jürgen Matthias Detlef Uwe Henning", "Brandt Köhler Vogelsang Lindner Schröder"),
    "French": ("Élodie Margaux Sylvie Delphine Clémence", "Thibault Gaston Pascal Yannick Benoît", "Lefèvre Marchand Roussel Gauthier Perrin"),
    "Italian": ("Giulia Ornella Chiara Donatella Pia", "Matteo Salvatore Enzo Piero Gianni", "Ferraro Bianchi Moretti Galli Rinaldi"),
    "Greek": ("Eleni Despina Katerina Ioanna Vasiliki", "Yannis Stavros Kostas Thanos Petros", "Papadakis Nikolaou Vlachos Karras Economou"),
    "Spanish": ("Lucía Pilar Rocío Marisol Inés", "Álvaro Joaquín Rubén Ignacio Esteban", "Navarro Ibáñez Cordero Montes Quintana"),
    "Brazilian": ("Thaís Jussara Beatriz Camila Larissa", "Thiago Caio Rodrigo Vinícius Otávio", "Carvalho Figueiredo Barbosa Teixeira Moura"),
    "Turkish": ("Gülşen Elif Zeynep Ayşe Sevgi", "Emre Kerem Mehmet Onur Serkan", "Yıldız Demirci Aksoy Öztürk Polat"),
    "Arabic": ("Layla Nadia Rania Samira Huda", "Omar Khalid Tariq Youssef Bilal", "Haddad Mansour Khoury Nasser Barakat"),
    "Iranian": ("Shirin Parisa Nasrin Mahsa Golnaz", "Dariush Babak Farhad Kaveh Siamak", "Rahimi Tehrani Karimi Sohrabi Moradi"),
    "Indian": ("Priya Ananya Lakshmi Meera Kavita", "Rajesh Arjun Vikram Sanjay Harish", "Iyer Chatterjee Deshpande Banerjee Kulkarni"),
    "Nigerian": ("Ngozi Chioma Folake Adaeze Yewande", "Chukwuemeka Tunde Obinna Segun Ikenna", "Okafor Adeyemi Eze Balogun Nwosu"),
    "Kenyan": ("Wanjiru Akinyi Njeri Atieno Nekesa", "Kamau Otieno Mwangi Kiprono Barasa", "Kariuki Odhiambo Mutua Wekesa Cheruiyot"),
    "Chinese": ("Xiaoling Meifang Jiayi Yuhan Shuting", "Wenbo Haoran Jianguo Zhiwei Minghao", "Zhang Huang Zheng Liang Xie"),
    "Vietnamese": ("Linh Thảo Phương Hạnh Trang", "Tuấn Dũng Quang Hiếu Khoa", "Nguyen Pham Huynh Dang Trinh"),
    "Korean": ("Jiwoo Soyeon Eunji Hyejin Minseo", "Junho Seojun Donghyun Taeyang Sungmin", "Kwon Jeong Hwang Baek Shin"),
    "Japanese": ("Haruka Yuki Naoko Sakura Emiko", "Kenji Takumi Hiroshi Daichi Ryota", "Watanabe Matsuda Fujimoto Inoue Hayashi"),
}
PLACES = """Leeds|Norwich|Cork|Galway|Gdańsk|Lublin|Lviv|Odesa|Graz|Bremen|Lyon|Rennes|Turin|Bologna|Patras|Seville|Bilbao|Recife|Curitiba|Izmir
|Bursa|Amman|Alexandria|Shiraz|Pune|Kochi|Ibadan|Enugu|Mombasa|Kisumu|Chengdu|Xiamen|Da Nang|Hue|Busan|Daegu|Nagoya|Sapporo|Halifax|Tucson
|Omaha|Perth|Dunedin|Porto|Ghent""".replace("\n", "").split("|")
STREETS = ("Rosemary Lane|Canal Street|Tannery Road|Old Mill Close|Chestnut Avenue|Harbour View|Lime Kiln Road|Station Road|Orchard Street|"
           "Weavers Row|Sycamore Drive|Chapel Terrace|Foundry Street|Quarry Hill|Magnolia Court").split("|")
FIRMS = ("Birchline|Corvane|Tallowfield|Northgate|Meridale|Oakhurst|Sunbeck|Quillon|Ferrowick|Larkmoor|Zentura|Pellmar|Brightwater|Hollowbrook|Axtell").split("|")
BRANCHES = "Logistics|Foods|Insurance|Systems|Partners|Furniture|Energy|Consulting|Textiles|Travel".split("|")
HOUSES = "Rosemary|Canalside|Millbrook|Chestnut|Harbourside|Limewood|Orchard|Saint Bridget|Eastfield".split("|")
CARE = "Clinic|Surgery|Health Centre|Practice".split("|")
# an illness, a medicine in tablets for it, and a usual dose in mg
TREATMENTS = [
    ("type 2 diabetes", "metformin", "500"), ("high blood pressure", "ramipril", "5"), ("depression", "sertraline", "50"),
    ("epilepsy", "lamotrigine", "100"), ("gout", "allopurinol", "300"), ("HIV", "dolutegravir", "50"), ("schizophrenia", "olanzapine", "10"),
    ("high cholesterol", "atorvastatin", "20"), ("Parkinson's disease", "ropinirole", "2"), ("angina", "bisoprolol", "5"),
    ("chronic back pain", "naproxen", "250"), ("anxiety", "escitalopram", "10"), ("multiple sclerosis", "baclofen", "10"),
    ("ulcerative colitis", "mesalazine", "800"), ("hepatitis B", "entecavir", "0.5"), ("heart failure", "furosemide", "40"),
]
# numbers that the card networks and IBAN registries publish as examples
CARDS = ["4242 4242 4242 4242", "4111 1111 1111 1111", "5555 5555 5555 4444", "4000 0566 5566 5556", "5105 1051 0510 5100"]
IBANS = ["GB82 WEST 1234 5698 7654 32", "DE89 3704 0044 0532 0130 00", "FR14 2004 1010 0505 0001 3M02 606", "NL91 ABNA 0417 1643 00",
         "ES91 2100 0418 4502 0005 1332", "PL61 1090 1014 0000 0712 1981 2874", "BE68 5390 0754 7034", "CH93 0076 2011 6238 5295 7"]
AREAS = "201 212 303 312 415 503 617 713 808 917".split()
MONTHS = "January February March April May June July August September October November December".split()

# Templates -----------------------------------------------------------------

KINDS = {"mail": [], "medicine": [], "law": [], "finance": [], "hr": [], "code": []}
YES_NO = 'Answer in one sentence that starts with "Yes" or "No".'
ONE_SHORT = "Answer in one short sentence."
FEW_WORDS = "Answer in at most ten words."
JSON_ONLY = "Reply with the JSON only."


def case(**values):
    """What differs between prompts of one template: its ‹keys›; facts, details, sex and format override the template's.

    Details are keys of the world, or one value written out after "=".
    """
    return values


def template(kind, text, *cases, **rest):
    KINDS[kind].append((text, cases, rest))


def facts(*given):
    return [fact.split("|") for fact in given]


POLITE = "please|could you|would you|appreciate|kindly|grateful|would be great|thank|would it be possible"
GREETING = "dear|hello|hi |hi,|good morning|good afternoon"

# mail

template(
    "mail",
    "⟪‹ask›⟫\n\nHi «a.first»,\ncould we meet at «time» on «weekday» at our office, «street», to go over ‹topic›? It should take an hour.\nBest,\n«b.first»\n\n"
    "«b.full» | «org» | «b.phone»",
    case(ask="Write a short, polite reply that turns this meeting down.", topic="the plan for the new warehouse",
         facts=facts("unfortunately|regret|unable|cannot|can't|not be able|won't|sorry|not available", "meet|join|attend|schedul|time|invit")),
    case(ask="Can you write a two-sentence reply that says yes to this meeting?", topic="the budget",
         facts=facts("look forward|looking forward|happy to|works for me|confirm|pleased|see you|glad|great|sounds good|perfect|be there|i'd love|"
                     "i would love|of course|absolutely|certainly|be able to meet|i agree|yes,|yes.|yes!|can meet")),
    case(ask="Write a short reply that asks to move this meeting to another day.", topic="the stand at the trade fair",
         facts=facts("reschedul|postpone|different|next|would it|is it possible|alternative|can we|would you|available|instead")),
    details="b.first", max_words=70,
)
template(
    "mail",
    '⟪Suggest a subject line for this email. Reply with one line that starts with "Subject:".⟫\n\n‹mail›',
    case(mail="Dear ‹b.Ms› «b.last»,\nthe chairs that «firm Furniture» delivered to «street», «place», on «date» came with broken legs and a torn seat. Please tell me how you "
              "want to put this right. My order number is «order».\nKind regards,\n«a.full»",
         facts=facts("damag|broken|defect|faulty|complain|issue|problem|repair|replac|torn")),
    case(mail="Hello,\nthis is «a.full», customer «custno». On «date» we move from «street» to «street2» in «place». Please send the magazine and all letters "
              "there from then on.\nThank you,\n«a.first»",
         facts=facts("address|moving|move|relocat")),
    case(mail="Dear «a.first» and «b.first»,\nwe are back home in «place» and still talk about the weekend at your house on «road». The food, the walk by the sea, "
              "your stories: it was all perfect. Next time you come to us!\nLove,\n«c.first»",
         facts=facts("thank|grateful|gratitude|appreciat|wonderful|memor|weekend|perfect")),
    starts_with="Subject:", max_words=20,
)
template(
    "mail",
    "⟪Is the following email a complaint, an invitation or an apology? Answer with one word.⟫\n\n‹mail›",
    case(mail="To the team of «firm Lighting»: I ordered a lamp from you on «date» (order «order») and I am still waiting. Nobody picks up the phone on «phone». This is the third "
              "time that something goes wrong and I have had enough.\n«a.full», «street», «place»", word="complaint"),
    case(mail="Hi «a.first»,\n«b.first» turns «age» on «date» and we are having people round at «street», «place», from «pm». Bring the kids and something to swim "
              "in. Tell me if you can come!\n«c.first»", word="invitation"),
    case(mail="Dear ‹b.Ms› «b.last»,\nI am so sorry that I did not tell you on «weekday» that I could not come to «place». You waited for me at «org» for an hour, and that was my "
              "fault. I feel terrible about it and it will not happen again.\n«a.full»", word="apology"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "mail",
    "⟪What does the writer want me to do? Answer in one short sentence.⟫\n\n‹mail›",
    case(mail="Dear ‹a.Ms› «a.last»,\nthe class of your son «b.first» goes to «place» on «date». We leave at «time» from «street». The form that I have attached must be "
              "signed by a parent and be in my box before the trip. He needs nothing else.\nYours,\n«c.full», «firm School»", sex="b=m",
         facts=facts("sign")),
    case(mail="Hi «a.first»,\nwe are in «place» from «date» to «date2». The key to the flat is with «b.full» at «street». The tomatoes on the balcony get very dry in this "
              "heat, so it would be lovely if somebody gave them a drink every other day. You can reach me on «phone».\nHugs,\n«c.first»",
         facts=facts("water|drink", "tomato|plant|them")),
    case(mail="Hello «a.first»,\nI am at the fair in «place» until «date» and only have my phone with me. The print shop on «road» needs our price list before «time», "
              "and the file is on the computer in the office. Their address is «email». You would save me!\n«b.first», «org»",
         facts=facts("send|email|e-mail|forward|deliver|submit|mail", "price list")),
    max_words=35,
)
template(
    "mail",
    "⟪Translate this message into ‹language›. Reply with the translation only.⟫\n\n‹mail›",
    case(language="German", details="a.last b.full", facts=facts("dank", "bahnhof"),
         mail="Dear ‹a.Ms› «a.last»,\nthank you for your letter. My train arrives in «place» on «weekday» at «time». Could you please pick me up at the station?\n"
              "Yours sincerely,\n«b.full»"),
    case(language="French", details="a.first b.first", facts=facts("merci|remerci", "livre"),
         mail="Dear «a.first»,\nthank you for the book that you sent to «street». My daughter reads it every evening before she goes to sleep. We hope to see you in «place» "
              "in the summer.\nLove,\n«b.first»"),
    case(language="Spanish", details="a.first b.full", facts=facts("reunión|reunion|encuentro|cita", "contrato"),
         mail="Hi «a.first»,\nthe meeting with «org» is not on «weekday» but on «weekday2» at «time». Please bring the contract and tell «b.full» about it. My number is "
              "still «phone».\nThanks,\n«c.first»"),
    max_words=80,
)
template(
    "mail",
    "⟪‹ask›⟫ ‹mail›",
    case(ask="Rewrite this message so that it sounds polite, in one or two sentences.",
         mail="«a.first», you still haven't given me the keys to «street». I need them by «time» on «weekday», otherwise «b.full» at «org» will hear what I think of you.",
         facts=facts(POLITE, "key")),
    case(ask="Make this note to my neighbour friendly and polite, in two sentences at most.",
         mail="Your dog barks all night, «a.first». Nobody on «road» gets any sleep and my daughter «b.first» has an exam on «date». Shut it up or I call «c.full» from "
              "the council.", sex="b=f",
         facts=facts(POLITE, "dog|bark|noise|quiet")),
    case(ask="Can you say this more politely, in one sentence?",
         mail="Send me the figures for «place» NOW, «a.first». I asked you on «date» and again on «date2». «b.full» from «org» wants them at «time» and I look like a fool.",
         facts=facts(POLITE, "figure|number|data")),
    details="a.first", max_words=70,
)
template(
    "mail",
    "‹mail›\n\n⟪Do I have to answer this mail today? " + YES_NO + "⟫",
    case(mail="Hi «a.first»,\nthe restaurant in «place» keeps the table for us only until this evening. Are you and «b.first» coming on «weekday» or not? I must "
              "tell them before they close tonight, or the table is gone.\n«c.full», «phone»", word="yes"),
    case(mail="This is an automatic message from «firm Express». Your parcel «order» was left with your neighbour «b.full», «street», on «date» at «time». There is nothing more "
              "for you to do. Please do not reply, nobody reads this mailbox.", word="no"),
    case(mail="Hi «a.first»,\nI am on the night train to «place» and will be asleep soon. There is no hurry at all with the pictures of «b.first»: any time next month "
              "is fine, because «firm Print» prints the calendar only after «date».\n«c.first»", word="no"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=50,
)
template(
    "mail",
    "⟪‹ask›⟫\n\n‹notes›",
    case(ask="Write my out-of-office reply from these notes, at most two sentences.",
         notes="Who: «a.full», customer service, «org»\nAway from «date» to «date2» (family visit in «place»)\nUrgent things go to «b.full», «b.email», «b.phone»"),
    case(ask="Please turn this into an out-of-office message for my mailbox, two sentences at most.",
         notes="On parental leave from «date» until «date2», baby «c.first» is on the way. In urgent cases people at «org» should write to «b.full», «b.email», or ring "
               "«b.phone». Signed «a.full», «place»"),
    facts=facts("i am|i will be|i'm on|i'm away|i'm currently|i'm out|out of the office|out of office", "contact|reach|touch|call|email to|write to|get in"), details="b.full b.email", max_words=80,
)
template(
    "mail",
    "‹mail›\n\n⟪Is the tone of this mail angry, friendly or worried? Answer with one word.⟫",
    case(mail="«a.full» again, «street». For weeks your drivers from «org» have blocked my gate, and when I rang «phone» on «weekday» somebody laughed and hung "
              "up. What kind of people are you? I will not take this any longer!", word="angry"),
    case(mail="Hi «a.first»! What a lovely surprise to find your card from «place» in the box this morning. «b.first» put it on the fridge at once. Come by whenever you "
              "like, the cake is on me. A big hug from all of us at «street»! «c.first»", word="friendly"),
    case(mail="Dear «a.first», have you heard from «b.first»? ‹b.He› wanted to ring me from «place» on «weekday» at «time» and ‹b.his› phone, «phone», has been off ever "
              "since. That is not like ‹b.him› at all. I can't sleep and keep thinking that something has happened. «c.first»", word="worried"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "mail",
    '⟪Turn this signature into JSON with the keys "name", "role", "phone" and "email". ' + JSON_ONLY + "⟫\n\n‹sig›",
    case(role="accountant", sig="Kind regards,\n«a.full»\nAccountant at «org»\n«street», «place»\nTel. «a.phone»\n«a.email»\nPlease think of the trees before you print "
                                "this mail."),
    case(role="head nurse", sig="«a.full» | Head nurse, night shift\n«hospital», «street», «place»\nRing me on «a.phone» or write to «a.email»\nI am not in on a «weekday»."),
    facts=facts("‹role›"), details="a.full a.phone a.email", json_keys=["name", "role", "phone", "email"],
)
template(
    "mail",
    "⟪‹ask›⟫\n\n‹mail›",
    case(ask="List the three things that I have to bring, as three short bullet points.",
         mail="Hi «a.first»,\nour bus to «place» leaves on «date» at «time», in front of «org». You need your passport at the border. It gets cold up there, so take a warm "
              "coat. The hut has no sheets: pack a sleeping bag. «b.first» has the tickets.\n«c.first»",
         facts=facts("passport", "coat", "sleeping bag")),
    case(ask="What will the workmen do? Give me three short bullet points.",
         mail="Dear ‹a.Ms› «a.last»,\non «date» our men come to «street», «place», at «time». They paint the front door, clean the windows in the stairs and mend the fence "
              "behind the garage. Questions go to «b.full», «firm Builders», «phone».",
         facts=facts("paint", "clean", "mend|repair|fix|fence")),
    case(ask="Please make three short bullet points of what the guest did not like.",
         mail="To «firm Hotel», «place»: I stayed with you from «date» to «date2», booking «order», for «amount». The room was dirty, the heating did not work, and the people next "
              "door were so loud that I sat awake until «late».\n«a.full»",
         facts=facts("dirty|clean", "heat", "loud|noise|noisy|neighbo")),
    bullets=3, max_words=60,
)
template(
    "mail",
    "‹news› ⟪Write one short sentence for the card that we give ‹a.him›. Only that sentence, please.⟫",
    case(news="«a.first», who sits next to me at «org» in «place», had a baby on «date»: a girl, «NUMBER|3.4» kilos, and her name is «b.first». We all put in «small».",
         sex="a=f", facts=facts("congratulat|welcome|joy|bless|wish|happ|love")),
    case(news="The father of «a.first» from our office at «org» died in «place» on «date» after a long time with «ILLNESS|lung cancer». ‹a.He› comes back to work on «weekday».",
         facts=facts("sorry for|sorry to|so sorry|condolence|sympath|loss|thoughts|heartfelt|comfort|difficult")),
    case(news="After «NUMBER|eleven» years at «org», «a.first» leaves us on «date» for a better job in «place». We will meet at «time» in the canteen and «b.first» brings the "
              "flowers.",
         facts=facts("luck|wish|miss|success|farewell|all the best|congratulat|thank|goodbye|hope|future")),
    details="a.first", max_words=50,
)

# medicine

template(
    "medicine",
    "‹story› ⟪‹ask› " + ONE_SHORT + "⟫",
    case(story="My mother «a.full», «old», takes one tablet of «drug» («dose» mg) every evening for «ill». Yesterday she forgot it, and I only noticed today when I visited "
               "her in «place».", sex="a=f", ask="What should she do about the tablet that she missed?",
         facts=facts("skip|next dose|next tablet|doctor|pharmacist|as soon as|usual time|regular|normal|not double|not take|don't|provider|immediately")),
    case(story="I am «a.full» from «place», «age» years old, and my doctor at the «care» gave me «DRUG|escitalopram», «NUMBER|10» mg, for «ILLNESS|anxiety». My brother «b.first» feels "
               "just as I did and wants a few of my tablets because he has no time to see anybody.", sex="b=m", ask="Why should I not give him any?",
         facts=facts("prescri|safe|risk|harm|danger|side effect|without|effects|may not|different|interact|professional|diagnos|advice|supervis|appropriate|consult|shared|sharing")),
    case(story="Since «date» my husband «a.full», «age», has been on «DRUG|ramipril», «NUMBER|5» mg a day, for «ILLNESS|high blood pressure». For the last three days he has felt «ILLNESS|dizzy» "
               "whenever he gets up, and it is getting worse. He does not want to bother Dr «b.last» at the «care».", sex="a=m", ask="What should he do now?",
         facts=facts("doctor|contact|call|consult|see |medical|professional|dr |dr. |visit|seek")),
    max_words=35,
)
template(
    "medicine",
    "‹story› ⟪What should I do now? " + ONE_SHORT + "⟫",
    case(story="It is «time». My neighbour «a.full», «age», at «street», has just fallen down in front of me. ‹a.He› does not move, does not answer, and I cannot feel any "
               "breath. ‹a.He› has had «ill» for years and takes «drug».", facts=facts("ambulance|emergency|911|999|112|cpr")),
    case(story="My son «a.first», «NUMBER|three», got hold of the «drug» of his grandmother «b.full», «dose» mg each, and the box is half empty. He says that he ate them like sweets. We are at "
               "«street», «place».", sex="a=m b=f", facts=facts("emergency|poison|911|999|112|ambulance|hospital|doctor|medical")),
    case(story="I am «a.full», «age», from «place». For more than a month I have had an «ILLNESS|itchy rash» that comes and goes. I feel well otherwise, but "
               "nothing from the shop has helped. I also take «drug».", facts=facts("doctor|dermatolog|medical|professional|appointment|specialist|healthcare|consult")),
    max_words=40,
)
template(
    "medicine",
    "⟪Sum this up for the doctor in one short sentence.⟫ ‹story›",
    case(story="My name is «a.full», I was born on «dob» and I live in «place». Since «date» I have had «ILLNESS|heartburn» after every meal. It is worst at night when I lie "
               "down. The «DRUG|omeprazole» that Dr «b.last» gave me, «NUMBER|20» mg, has not helped at all, and I am tired of it.",
         facts=facts("night|lying|lie|lies", "not help|no relief|did not|didn't|without|despite|ineffective|not effective|has not|hasn't|not improv|no effect|not respond|"
                     "unsuccessful|no improvement|not been|fail"), details="=heartburn"),
    case(story="This is about my father, «a.full», «old», of «street», «place». He fell in the kitchen on «weekday» at about «time». Since then he cannot lift his left arm and "
               "he has «ILLNESS|headaches». He takes «drug» for «ill». He did not want to go to the «care».", sex="a=m",
         facts=facts("fell|fall|fallen", "arm|lift"), details="=headaches"),
    case(story="I'm «a.first», «age», and it's about my «ILLNESS|hay fever». Every year in «DATE|May» it starts, but this time I also cough in bed and can hardly sleep. «drug2» "
               "makes me so tired that I nearly drove off the road near «place» on «weekday». Is there something else for me?",
         facts=facts("sleep|cough|tired|drowsi|fatigue|bed", "other|another|altern|different|else|advice|treatment|medic|relief|solution|option|help"), details="=hay fever"),
    max_words=50,
)
template(
    "medicine",
    "‹letter›\n\n⟪‹ask› " + FEW_WORDS + "⟫",
    case(letter="«care», «place». Dear ‹a.Ms› «a.last», your examination by Dr «b.last» is on «date» at «time». Your stomach must be empty: from midnight on, have nothing but "
                "water. Bring your card («id») and a list of your tablets, «drug» included.",
         ask="What is the only thing that I may drink that morning?", facts=facts("water")),
    case(letter="Dear ‹a.Ms› «a.last», on «date» Dr «b.last» of the «care» will give you something that makes you sleepy for the rest of the day. You must not drive. Please have "
                "a friend take you home to «street». We expect you at «time», patient number «id».",
         ask="Who should bring me home?", facts=facts("friend")),
    case(letter="To ‹a.Ms› «a.last», ward «NUMBER|4», «hospital» in «place»: after the operation on «date» one person of your choice can be with you at any time, also at night, "
                "and gets a bed in your room for «small». Please tell Dr «b.last» or ring «phone».",
         ask="How many people can stay with the patient overnight?", sex="a=f", facts=facts("one|1")),
    max_words=20,
)
template(
    "medicine",
    "⟪‹ask›⟫ ‹story›",
    case(ask="Write two sentences to the practice for me.",
         story="I have an appointment with Dr «b.last» at the «care» on «date» at «time», because of my «ill». I have to be in «place» that day, so I need another one, any day "
               "the week after. My name is «a.full», phone «a.phone».",
         facts=facts("reschedul|change|move|postpone|different|alternative|another appointment|another day|another date|another time|new appointment|available",
                     GREETING + "|i would|could|please|i am writing|i'd like|i need to|can you")),
    case(ask="Can you write two polite sentences to the practice for me?",
         story="I no longer need the appointment on «date» at «time» with Dr «b.last», «care»; my «ill» is under control with «drug». I am «a.full», born «dob». They can give "
               "the time to somebody else.",
         facts=facts("cancel|no longer need|not need|no longer require", GREETING + "|thank|i would|please|i am writing|appreciate")),
    case(ask="Please write two sentences to my doctor that I can send by mail.",
         story="My tablets run out on «weekday»: «drug», «dose» mg, for «ill». I want the same again, and I can pick the paper up at the «care» in «place». The doctor is Dr "
               "«b.last»; I am «a.full», number «id».",
         facts=facts("refill|prescription|renew|repeat|request|more", GREETING + "|thank|i would|could|i am writing|appreciate")),
    details="b.last a.full", max_words=90,
)
template(
    "medicine",
    "⟪Give this message a title of at most five words.⟫ ‹story›",
    case(story="Hello, «a.full» here, «age», from «place». Two hours after the first tablet of «drug» my lips were swollen and I had red spots all over. I have stopped taking "
               "it. What shall I do? Phone «phone».", facts=facts("reaction|allerg|swollen|swelling|side effect|lips|spots|emergency")),
    case(story="To the office of the «care»: your letter of «date» says that I must pay «amount» for the «drug» myself, but my friend «b.full» gets it for «ill» and pays nothing. "
               "Why do you charge me? «a.full», «id»", facts=facts("charg|pay|cost|price|bill|fee|unfair")),
    case(story="I tried to get an appointment for my daughter «a.first» with Dr «b.last» online, but the page shows nothing before «date». She has «ILLNESS|epilepsy» and needs to see "
               "somebody sooner. Do you have anything free on «weekday» around «time»? «c.full», «phone»", sex="a=f", facts=facts("appointment|availab|booking|schedul|urgent|sooner")),
    max_words=10,
)
template(
    "medicine",
    "‹story› ⟪When do the tablets have to be taken? " + FEW_WORDS + "⟫",
    case(story="From the plan that the «care» in «place» gave my uncle «a.full», «old», for his «ILLNESS|type 2 diabetes»: «DRUG|metformin», «NUMBER|500» mg, one tablet after breakfast and "
               "another one before going to bed. Signed Dr «b.last», «date».", sex="a=m", facts=facts("breakfast", "bed|night|sleep")),
    case(story="Dr «b.last» wrote this for «a.full» («ILLNESS|multiple sclerosis») on «date»: take one tablet of «DRUG|baclofen», «NUMBER|10» mg, with breakfast, with lunch and with dinner, "
               "always with a glass of water. Questions: «phone», «care».", facts=facts("breakfast", "lunch", "dinner")),
    case(story="My aunt «a.full» in «place» has got new tablets for «ILLNESS|brittle bones», «DRUG|alendronate», «NUMBER|70» mg. On the box Dr «b.last» has written: on the first day of each "
               "week one tablet, on the other days none. We start on «date».", sex="a=f", facts=facts("week")),
    max_words=20,
)
template(
    "medicine",
    '⟪Turn this note into JSON with exactly four keys: "patient" (the name), "drug" (its name), "dose" and "allergy" (true or false). ' + JSON_ONLY + "⟫ ‹note›",
    case(note="«date», «care»: seen «a.full», «age», with «ill». Started on «drug», «dose» mg in the morning. The patient says that there are no allergies of any kind. Next "
              "visit on «date2» with Dr «b.last».", yes="false"),
    case(note="Phone call at «time» with «a.full» from «place», born «dob»: wants more «drug», «dose» mg, for «ill». Careful: is allergic to «DRUG|penicillin», nearly died of it "
              "as a child. Call back on «phone».", yes="true"),
    case(note="Ward round, «date». «a.full» («id»), «ill», gets «drug», «dose» mg. Slept well, no fever. Allergies: none known, asked ‹a.his› partner «b.first» as well. Can go home "
              "to «place» on «weekday».", yes="false"),
    facts=facts('"allergy": ‹yes›|"allergy":‹yes›'), details="a.full drug", json_keys=["patient", "drug", "dose", "allergy"],
)
template(
    "medicine",
    "⟪How does the second note differ from the first one? " + ONE_SHORT + "⟫\n\n‹notes›",
    case(notes="Note of «date», Dr «b.last»: «a.full», «age», takes «drug», «dose» mg, every day for «ill» and wants to go on with it.\nNote of «date2», «care»: the patient "
               "stopped the tablets half a year ago and takes none.", facts=facts("stop|no longer|none|not tak|discontinu|ceased")),
    case(notes="Letter from the «care», «date»: «a.full» from «place» takes «drug», «dose» mg, for «ill» in the morning.\nOur own file, «date2»: the patient takes «drug», «dose» mg, "
               "late in the evening. There is no other difference.", facts=facts("evening|late|time of|morning")),
    case(notes="Nurse «b.full» at «time»: «a.full» refused «drug» and threw the tablet away.\nNurse «c.full» at the same time, same bed: «a.full» took ‹a.his› «drug», «dose» mg, "
               "without any trouble. The relatives in «place» are asking.", facts=facts("took|taken|accept|without|did not refuse|trouble")),
    max_words=45,
)
template(
    "medicine",
    "‹story›\n\n⟪Whom should we ring about this? " + FEW_WORDS + "⟫",
    case(story="Grandma «a.full», «old», picked up her «drug» at the pharmacy on «road» today. At home in «place» she saw that the bag has somebody else's name on it, «b.full», and "
               "that these are not her tablets.", sex="a=f", facts=facts("pharmac")),
    case(story="After my stay at the «hospital» for «ILLNESS|a broken hip» I got a bill of «big» on «date». My health insurance should pay for such things, policy «id», but now they "
               "say that I am not covered and give no reason. «a.full»", facts=facts("insur")),
    case(story="My father «a.full» came home to «place» from the «hospital» on «weekday» after ten days on the ward. We unpacked his things and his glasses are missing: he is sure "
               "that they lie on the small table beside the bed he slept in.", sex="a=m", facts=facts("ward|nurse|hospital staff|the hospital")),
    max_words=20,
)
template(
    "medicine",
    "⟪‹ask›⟫ ‹story›",
    case(ask="List the three worries of this patient as three short bullet points.",
         story="I am «a.full», «age», and Dr «b.last» in «place» has just told me that I have «ill». Will I still be allowed to drive? What will my boss at «org» say when I am away "
               "from work so often? And can I fly to my sister's wedding on «date»?",
         facts=facts("driv", "work|boss|job", "fly|flight|travel|wedding")),
    case(ask="Give me the three rules for the patient as three short bullet points.",
         story="«hospital», «date». Dear «a.full», the operation went well. Until Dr «b.last» sees you on «date2», keep the leg up, do not let the bandage get wet, and walk a few steps "
               "every hour. Against the pain take «DRUG|ibuprofen», «NUMBER|400» mg.",
         facts=facts("leg|elevat", "bandage|wet|dry", "walk|step")),
    case(ask="Which three things does the nurse have to do? Three short bullet points, please.",
         story="Hand-over at «early», «hospital», room «NUMBER|12»: «a.full», «old», «ill». Please weigh ‹a.him› before breakfast, change the sheets, and phone ‹a.his› daughter «b.full» "
               "in «place», «phone». The «drug» was given already.",
         facts=facts("weigh", "sheet|bed", "phone|call|daughter|contact")),
    bullets=3, max_words=60,
)

# law

template(
    "law",
    '‹story› ⟪Who has to pay for this, the landlord or the tenant? Start your answer with "landlord" or "tenant".⟫',
    case(story="From my lease for «street», «place»: the landlord, «b.full», keeps the roof, the walls and the heating in order. The tenant, «a.full», looks after the garden. On the "
               "night of «date» the heating broke down, and the repair costs «amount».", word="landlord"),
    case(story="Lease of «date» between «b.full» (landlord) and «a.full» (tenant), flat at «street». Rule five: the tenant pays for the hedge and the grass, and the landlord "
               "for all else. «firm Gardens» cut the hedge and wants «amount».", word="tenant"),
    case(story="My name is «a.full» and I rent a flat at «street», «place», from «b.full». Under our contract the tenant pays for all damage by guests, and the landlord for what "
               "gets old. My guest «c.first» broke the glass door on «date»: «amount».", word="tenant"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=45,
)
template(
    "law",
    "‹story›\n\n⟪‹ask› " + FEW_WORDS + "⟫",
    case(story="My contract with «firm Gym» in «place», number «id», says that I must tell them three months before I want to leave. I, «a.full», wrote to them on «date» that I "
               "leave in two weeks.", ask="How long before leaving do I have to tell them?", facts=facts("three months|3 months")),
    case(story="I am «a.full» and rent a room at «street» from «b.full». Each of us can end this with one month's notice. I sent the letter on «date», long before "
               "the day on which I want to move to «place».", ask="How much notice do I have to give?", facts=facts("one month|1 month|a month|30 days")),
    case(story="«firm Cars» bought my van through «b.full» on «date» for «big». The paper says that the buyer can give it back within the first week, and after that not at all. Now "
               "they want to bring it to «street». Yours, «a.full»", ask="How long could the buyer give it back?", facts=facts("week|seven days|7 days")),
    max_words=20,
)
template(
    "law",
    "⟪Is this clause about confidentiality, payment or termination? Answer with one word.⟫ ‹clause›",
    case(clause="«a.full», «street», «place», will not tell anybody outside «org» what ‹a.he› learns about its customers, its recipes and its plans, neither during the work "
                "nor after «date». All of it stays private.", word="confidentiality"),
    case(clause="«org» sends «a.full» «big» on the first working day of each month, to the account «iban». If it comes late, «b.full» may add «NUMBER|2%» for "
                "every week.", word="payment"),
    case(clause="Either side, «a.full» or «org» of «place», may end this agreement at any time by a letter to the other one at «street». It then stops on «date» and "
                "nothing of it goes on.", word="termination"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "law",
    "Our contract with «org» («id») has three rules. Delay: goods that come late are cheaper by a tenth. Damage: broken goods are replaced. Exit: either side may leave at the end of a "
    "year. ‹story› ⟪Which rule applies? Answer with its name: Delay, Damage or Exit.⟫",
    case(story="On «date» «a.full» opened the boxes at «street» and every second plate was in pieces.", word="damage"),
    case(story="The tables for «place» were promised for «date», and «a.full» from the store says that they came two weeks late.", word="delay"),
    case(story="«a.full» has found a better offer in «place» and wants us to stop working with them after «date».", word="exit"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=40,
)
template(
    "law",
    "⟪Put this into plain English, in one short sentence.⟫ ‹clause›",
    case(clause="\"The Lessee, «a.full», shall not assign this lease or sublet the premises at «street», «place», or any part thereof, without the prior written consent of the "
                "Lessor, «b.full», such consent to be given not later than «date».\"",
         facts=facts("permission|consent|approv|agree|allow", "cannot|can't|may not|must not|not allowed|without|needs|must get|must have|not rent|not transfer|not sublet|unless|only|must obtain|must ask|before|required")),
    case(clause="\"In the event that «a.full» fails to remit the sum of «amount» on or before «date», the entire outstanding balance shall forthwith become due and payable to «org» "
                "of «place», notwithstanding any prior arrangement as to instalments.\"",
         facts=facts("pay", "whole|entire|full|all|total|rest|remaining|balance", "immediately|at once|right away|straight away|becomes due|become due|due|will have to|must|owe")),
    case(clause="\"«org», having its seat at «street», «place», shall indemnify and hold harmless «a.full» against any and all claims of third parties arising out of the use of the "
                "premises on or after «date», howsoever caused.\"",
         facts=facts("protect|cover|responsib|pay|liab|compensat|safe|defend|blame|reimburs", "claim|damage|loss|lawsuit|harm|someone|anyone|others|third|problem|legal")),
    max_words=45,
)
template(
    "law",
    "⟪‹ask›⟫ ‹story›",
    case(ask="In one polite sentence, ask my former landlord for what I want.",
         story="I moved out of the flat at «street», «place», on «date». «b.full» was happy with everything and still keeps my deposit of «amount». I want it within two weeks, on my "
               "account «iban». I'm «a.full».",
         facts=facts("deposit", "please|kindly|could|would|request|appreciate", "return|refund|back|repay|transfer|send|deposit of")),
    case(ask="In one polite sentence, ask the shop for what I want.",
         story="On «date» I, «a.full», bought a washing machine from «firm Electric» for «amount» (receipt «order»). It has never worked. I do not want another one, I want the money. The "
               "manager there is called «b.full».",
         facts=facts("refund|money back|return|reimburs|money", "please|kindly|could|would|request|appreciate")),
    case(ask="Can you ask the other side for what I want, in one polite sentence?",
         story="The tree behind «street», «place», belongs to «b.full». Since «date» its branches hang over my roof and have broken «NUMBER|six» tiles. I, «a.full», want it cut back "
               "before the storms of «month».",
         facts=facts("cut|trim|prune|remov", "please|kindly|could|would|request|appreciate")),
    details="b.full", max_words=60,
)
template(
    "law",
    '⟪Extract JSON with the keys "landlord", "tenant", "rent" and "pets" (true if pets are allowed, else false). ' + JSON_ONLY + "⟫ ‹lease›",
    case(lease="«b.full» (landlord) lets the flat at «street», «place», to «a.full» (tenant) from «date» for «rent» a month. Dogs, cats and other animals may not be kept in it.",
         yes="false"),
    case(lease="Agreement of «date»: tenant «a.full» takes the house at «street» from landlord «b.full» and pays «rent» each month to «iban». The tenant is welcome to keep pets.",
         yes="true"),
    case(lease="The room on the second floor of «street», «place», goes to the student «a.full», who pays «rent» a month to the owner, «b.full», from «date» on. No animals, no "
               "smoking, no loud music after «TIME|10 pm».", yes="false"),
    facts=facts('"pets": ‹yes›|"pets":‹yes›'), details="a.full b.full", json_keys=["landlord", "tenant", "rent", "pets"],
)
template(
    "law",
    "‹story› ⟪‹ask› " + ONE_SHORT + "⟫",
    case(story="When «a.full» left «org» on «date», ‹a.he› signed that ‹a.he› would not work for any other firm of the same trade for a full year. Last week, only a month later, "
               "«org2» in «place», which makes the very same goods, offered ‹a.him› «salary».",
         ask="What did the person promise?", facts=facts("not work|not to work|not join|would not|not be employed|refrain|avoid", "year")),
    case(story="The rules of our building at «street», signed by «a.full» on «date», forbid dogs and large animals, but say that fish and small animals in a cage are fine. My daughter "
               "«b.first», «NUMBER|8», wants a pet.", sex="b=f",
         ask="Which animals are allowed?", facts=facts("fish", "small|cage")),
    case(story="In her will of «date» my aunt «a.full» of «place» leaves her house at «street» to «b.first» \"or, if «b.first» is no longer alive, to «c.first»\". «b.first» died last "
               "year, «c.first» is well.", sex="a=f",
         ask="Why does the first person not get the house?", facts=facts("died|dead|no longer|not alive|passed|death|deceased")),
    max_words=35,
)
template(
    "law",
    "‹story› ⟪‹ask›⟫",
    case(story="By the contract of «date», «b.full» buys a used van from «a.full» in «place» and pays «big» for it. Our client is «b.full», who now says that the "
               "brakes never worked.", ask="Is our client the buyer or the seller? Answer with one word.", word="buyer"),
    case(story="«a.full» gave «big» to «b.full» on «date», to be paid back by «date2» with «NUMBER|3%» on top, into the account «iban». Our client is «a.full», who has not seen "
               "any money yet.", ask="Is our client the lender or the borrower? Answer with one word.", word="lender"),
    case(story="«a.full» of «street», «place», lives in a flat that belongs to «b.full» and pays «rent» a month for it. We act for «a.full», who has had no hot water since «date».",
         ask="Is our client the landlord or the tenant? Answer with one word.", word="tenant"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "law",
    "⟪‹ask›⟫ ‹text›",
    case(ask="List the three duties of the tenant as three short bullet points.",
         text="Under the lease of «date», «a.full» pays «rent» to «b.full» on the first of the month, sweeps the stairs of «street» every «weekday», and lets «org» read the meter once a "
              "year.",
         facts=facts("pay|rent", "sweep|stair|clean", "meter")),
    case(ask="Which three things did the court order? Three short bullet points, please.",
         text="In the case of «a.full» against «org» («id»), the court in «place» ruled on «date»: the firm must give back the machine, pay «big», and say in the newspaper that it "
              "was wrong. «b.full» wants to appeal.",
         facts=facts("machine", "pay|amount", "newspaper|apolog|wrong|publi|statement")),
    case(ask="Give me three short bullet points: what did the police find?",
         text="On «date» at «time» officers stopped «a.full», «age», near «street» in «place». In ‹a.his› bag were a stolen phone, a kitchen knife and the house keys of a neighbour, "
              "«b.full». ‹a.He› said nothing. File «id».",
         facts=facts("phone", "knife", "key")),
    bullets=3, max_words=60,
)
template(
    "law",
    '⟪Give this letter a subject line. Reply with one line that starts with "Subject:".⟫\n\n‹letter›',
    case(letter="Dear «a.full»,\nmy client «b.full», «street», «place», cannot sleep because of the music from your flat, every night until «late». If this does not stop before «date» we "
                "will go to court. File «id».", facts=facts("noise|music|loud|disturb|sleep")),
    case(letter="Dear ‹a.Ms› «a.last»,\n«org» has put a picture of your daughter «b.first» on its page without asking you. I have written to them today: they must take it down before "
                "«date» and pay «amount».\nYours, «c.full», «place»", sex="b=f", facts=facts("picture|photo|image|privacy|removal|remove|unauthori|without")),
    case(letter="To «firm Travel», «street», «place»:\nI bought the flight to «place2» with you (booking «order»), and on «date» you cancelled it two hours before take-off. I want my «amount» "
                "back.\n«a.full», «phone»", facts=facts("refund|cancel|reimburs|compensat|flight")),
    starts_with="Subject:", max_words=20,
)

# finance

template(
    "finance",
    "‹story› ⟪Has this invoice been paid? " + ONE_SHORT + "⟫",
    case(story="Invoice «invoice» from «org» to «a.full», «street», «place»: «amount», to be paid to «iban» within ten days. That was two months ago, and nothing has come in so far.",
         facts=facts("not been paid|not paid|unpaid|hasn't|has not|no,|not yet|overdue|outstanding|no payment")),
    case(story="Our customer «a.full» in «place» paid the «amount» of invoice «invoice» in full on the very day it arrived, by card «card». «b.first» from «org» asked me about it "
               "on «weekday».", facts=facts("yes|has been paid|was paid|is paid|paid in full|fully paid|paid the|paid on|settled")),
    case(story="We sent invoice «invoice» over «amount» to «a.full» this morning, «email», and gave ‹a.him› a whole month to pay it. ‹a.He› has not paid yet, says «b.first» of "
               "«org», «phone».", facts=facts("not been paid|not paid|unpaid|hasn't|has not|no,|not yet|outstanding|no payment")),
    max_words=30,
)
template(
    "finance",
    "⟪‹ask›⟫ ‹notes›",
    case(ask="Ask this customer for the money in one friendly sentence.",
         notes="«a.full», «street», «place». Invoice «invoice» of «date», «amount», for garden work by «firm Gardens». Still open after three weeks; first time that this has happened."),
    case(ask="Write one friendly sentence that asks this client to pay.",
         notes="Client: «a.full», «a.email». Owes «firm Tax Advice» «amount» for tax advice (invoice «invoice»), should have been on our account «iban» by «date». Good client for years."),
    case(ask="Can you ask this parent for the money, in one kind sentence?",
         notes="«a.full», mother of «b.first». The money for the school trip to «place», «amount», should have been here on «date». All other families have paid. Account: «iban».", sex="a=f"),
    facts=facts("please|kindly|could you|would you|appreciate|grateful|thank|let us know|let me know|would be great|remind|would like to|may i|can i|hope",
                "pay|invoice|money|due|outstanding|amount|balance|owe"),
    details="amount", min_words=8, max_words=50,
)
template(
    "finance",
    "⟪Is this expense travel, food or office? Answer with one word.⟫ ‹story›",
    case(story="On «date» «a.full» («empid») paid «amount» with the company card «card» for a train to «place» and back, to see a customer of «org».", word="travel"),
    case(story="«small», card «card», «date», «time»: soup, two plates of noodles and tea at a small place on «road», «a.full» together with «b.full» from «firm Consulting».", word="food"),
    case(story="«a.full» bought a box of printer paper, pens and a desk lamp for ‹a.his› room at «org», «street», «place». Receipt «order» of «date», «amount».", word="office"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "finance",
    "‹message›\n\n⟪Why is this suspicious? " + ONE_SHORT + "⟫",
    case(message="My grandmother «a.full», «old», got this: \"Hi Gran, it's «b.first», I lost my phone, this is my new number, «phone». I need «amount» by «time» today, don't tell mum and dad. "
                 "Please buy gift cards and send me the codes.\"", sex="a=f",
         facts=facts("gift card|code|urgen|pressure|secret|new number|scam|fraud|money|personal|impersonat")),
    case(message="«firm Services» in «place» sent us a bill on «date»: «amount», to be paid to «iban», for cleaning our windows. «a.full» has asked everybody here at «street». Nobody ordered "
                 "it, and no window was cleaned.",
         facts=facts("not order|nobody|no one|no window|never|not clean|without|no record|not request|no evidence|not been cleaned|did not|didn't|wasn't|unauthor|not authori|no order")),
    case(message="\"Dear customer, your account «iban» at «firm Bank» will be closed at «time» today! Confirm your card «card» and your PIN at once on this page, or lose «amount».\" This was "
                 "sent to me, «a.full», from the address «c.email».",
         facts=facts("pin|urgen|pressure|phish|personal|threat|legitimate|sensitive|scam|information|fraud|unknown|unfamiliar|confirm|warning|closed")),
    max_words=45,
)
template(
    "finance",
    '⟪Put this into JSON with the keys "payer", "payee", "amount" and "monthly" (true or false). ' + JSON_ONLY + "⟫ ‹story›",
    case(story="«a.full» from «place» asks us to send «amount» to «b.full», account «iban», on the first day of every month, from «date» until further notice.", yes="true"),
    case(story="Transfer of «date»: «a.full», customer «custno», has sent «b.full» the sum of «amount» for a used bicycle. It was a single payment, to the account «iban».", yes="false"),
    case(story="«a.full», «street», gives «amount» to ‹a.his› niece «b.full» each month while she studies in «place». The bank sends it on the «DATE|fifteenth», to «iban».", yes="true", sex="b=f"),
    facts=facts('"monthly": ‹yes›|"monthly":‹yes›'), details="a.full b.full", json_keys=["payer", "payee", "amount", "monthly"],
)
template(
    "finance",
    "⟪What does the bank ask the customer to do? Answer in one short sentence.⟫\n\n‹letter›",
    case(letter="Dear ‹a.Ms› «a.last»,\nthe passport of which we hold a copy ran out on «date». The law wants us to have one that is valid. Until we get a picture of your new one by the app, "
                "your account «iban» cannot send more than «big» a day.\n«b.full», «firm Bank», «place»",
         facts=facts("passport|picture|photo|copy", "new|send|upload|provide|submit|valid|update|renew")),
    case(letter="Dear ‹a.Ms› «a.last»,\non «date» at «time» somebody tried to pay «amount» with your card «card» in «place». We stopped it. Was it you? Ring us on «phone», day or night, and "
                "we will talk about what happens next.\n«b.full», «firm Bank»",
         facts=facts("call|ring|contact|phone")),
    case(letter="Dear ‹a.Ms› «a.last»,\nyour card «card» is about to run out. Next week we post the new one to «street», «place», which you gave us as your address on «date». If you "
                "live somewhere else by now, let us know where before then.\n«b.full», «firm Bank»",
         facts=facts("address|where", "new|update|inform|tell|provide|confirm|let them|notify|give|check|live")),
    max_words=40,
)
template(
    "finance",
    "‹story› ⟪What should I do first? " + ONE_SHORT + "⟫",
    case(story="I am «a.full». My card «card» has been used for games on the internet since «date», «amount» in all, and it was not me. The card itself is still in my purse, and payments "
               "keep coming in while I write this.", facts=facts("bank|block|cancel|freeze|report|issuer|card company|stop")),
    case(story="On «date» I bought shoes at «firm Shoes» in «place» for «small», paid with card «card». They gave me the wrong size and I would like to change them. The woman who sold "
               "them is called «b.full», and I still have the receipt.", sex="b=f", facts=facts("shop|store|return|exchange|contact|receipt|back to")),
    case(story="When I, «a.full», came home to «street», «place», at «pm», the door had been kicked in, the drawers were open and «amount» in cash was gone. Somebody can still be heard "
               "upstairs.", facts=facts("police|911|emergency|999|112|authorit")),
    max_words=40,
)
template(
    "finance",
    "‹story› ⟪Write a payment reference of at most six words that says what the money is for.⟫",
    case(story="I, «a.full», send «rent» to my landlady «b.full», account «iban». It is the rent for my room at «street» in «month».", sex="b=f", facts=facts("rent")),
    case(story="«b.full» and I, «a.full», had dinner in «place» on «date» and ‹b.he› paid for both of us. Now I send ‹b.him› my half, «small», to «iban».",
         facts=facts("dinner|meal|half|share")),
    case(story="We, «a.full» and «b.full», give «amount» to the animal home in «place» because our old cat came from there. It is a donation, nothing is owed. Account «iban», to "
               "go out on «date».", facts=facts("donation|gift|donat|animal")),
    max_words=14,
)
template(
    "finance",
    "‹story› ⟪Which payment cannot wait? " + ONE_SHORT + "⟫",
    case(story="I'm «a.full» in «place» and have «amount» left until «date». «b.full», my landlord, says I am out on the street next week if he does not get the rent. The phone people "
               "can wait until next month. The gym, «firm Fitness», lets me pause.", sex="b=m", facts=facts("rent")),
    case(story="Hi, «a.first» here. This month I have «amount». The rent for «street» is paid until summer. The gym is closed for repairs and takes nothing. But «firm Telecom» cuts off my "
               "phone tomorrow if I do not pay, and without it «b.full» cannot call me for work.", facts=facts("phone")),
    case(story="I am «a.full», «NUMBER|23»: my parents in «place» pay my rent and my phone is free through work at «org». Only the gym has not been paid, «small», and from «date» they "
               "will send «b.full» to collect it, which costs extra.", facts=facts("gym")),
    max_words=30,
)
template(
    "finance",
    "⟪‹ask›⟫\n\n‹text›",
    case(ask="Which three papers does the accountant need? Answer with three short bullet points.",
         text="Hi «a.first»,\nfor your taxes I still miss a few things, before «date» please: the letter from your employer, «org», about your wages, the receipts for the new roof at «street», "
              "and the statement of the bank for «iban».\n«b.full»",
         facts=facts("wage|employer", "roof|receipt", "bank|statement")),
    case(ask="Make three short bullet points of the reasons why we spent more.",
         text="To «a.full», «org»: in «month» we spent «big» more than planned. The drivers got better pay, fuel went up, and the old lift in «place» had to be mended at once. I can explain "
              "it on «weekday» at «time». «b.full»",
         facts=facts("pay|wage|driver|salar", "fuel", "lift|mend|repair|elevator")),
    case(ask="What are the three goals? Give me three short bullet points.",
         text="«a.full», «NUMBER|41», and «b.full», «NUMBER|39», of «place» put aside «amount» a month with us («custno»). They want to buy a small house, send their son to university, and stop working "
              "early.",
         facts=facts("house|home", "universit|educat|son", "retire|early|stop")),
    bullets=3, max_words=60,
)
template(
    "finance",
    "⟪What does this customer want from us? " + ONE_SHORT + "⟫ ‹story›",
    case(story="Hello, «a.full», account «iban». On «date» you took «amount» from me twice for the same thing. One of the two was a mistake, as «b.full» in your «place» branch said "
               "too. I would like to have that one back.", facts=facts("refund|back|return|reimburs|correct")),
    case(story="My name is «a.full», I earn «salary» a year at «org». We want to build a second room at «street» for the baby, and we are short of «big». Could you lend us "
               "that? We would pay it back over five years.", facts=facts("loan|borrow|lend|financ|credit")),
    case(story="«a.full», customer «custno». For a visa I must show all that came in and went out of my account «iban» between «date» and «date2», printed on your paper. Can "
               "you send that to «street», «place»?", facts=facts("statement|transaction|record|print|document|account|came in|history")),
    max_words=35,
)

# hr

template(
    "hr",
    "⟪‹ask›⟫ ‹story›",
    case(ask="Write one sentence to my manager that says why I am not at work.",
         story="I'm «a.full», warehouse of «org». I woke up with «ILLNESS|a high fever», and Dr «c.last» has signed me off until «date». My manager is called «b.first».",
         facts=facts("unable|cannot|can't|not be able|won't|not come|absen|off work|sick|unwell|not feeling|leave|time off|signed off|signed me off", "work|come|until|off|day")),
    case(ask="Tell my boss in one sentence why I will be late.",
         story="My train from «place» is stuck in the snow and I will be there at «early» at the earliest, so «c.full» has to open the desk at «org» alone. «b.first» is my boss, I am "
               "«a.first».",
         facts=facts("train|snow", "late|delay|not be able|won't|arriv|be there|stuck")),
    case(ask="Ask my boss for this in one polite sentence.",
         story="On «date» our daughter «c.first» has her first day at school in «place», and I want to take that day off. «b.first» decides about it. I am «a.full», «empid», at «org».", sex="c=f",
         facts=facts("off|leave|free", "could|would|please|may i|request|can i|hope|appreciate|possible|grant|allow")),
    details="b.first", max_words=38,
)
template(
    "hr",
    "⟪Is this reference good or bad for the person? Answer with the one word \"good\" or \"bad\".⟫ ‹text›",
    case(text="«a.full» was with «org» in «place» from «joined» to «left». ‹a.He› learned fast, customers asked for ‹a.him› by name, and when ‹b.Ms› «b.last» was away ‹a.he› ran the whole "
              "shop. We would take ‹a.him› back at any time.", word="good"),
    case(text="«a.full» worked for us at «street» until «left». ‹a.He› often came late, two customers wrote to ‹b.Ms› «b.last» because of ‹a.his› rude manner, and we had to do "
              "much of ‹a.his› work again. We would not hire ‹a.him› again. «org»", word="bad"),
    case(text="To whom it may concern: «a.full», born «dob», kept the books of «org» for «NUMBER|nine» years without a single mistake, trained our young people, and was a "
              "pleasure to work with. We can only recommend ‹a.him›. «b.full», «place»", word="good"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "hr",
    "‹mail›\n\n⟪Does the writer ask for a raise, for leave or for a transfer? Answer with one word.⟫",
    case(mail="Dear «b.first»,\nI have done the work of two people since «c.full» left on «date», and I still get «salary» like on my first day at «org». I think my pay should reflect what I "
              "do. Can we talk on «weekday»?\n«a.full»", word="raise"),
    case(mail="Dear ‹b.Ms› «b.last»,\nmy mother in «place» has «ILLNESS|breast cancer» and will be operated on. I would like to be away from work from «date» to «date2» to look after her. I know that I have no free days left "
              "and am ready to go without pay.\n«a.full», «empid»", word="leave"),
    case(mail="Hello «b.first»,\nmy husband has found work in «place» and we are going to live there from «date». You have an office on «road» in that town. I love what I do at «org» and "
              "would like to do the same there.\n«a.full»", sex="a=f", word="transfer"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "hr",
    "⟪Write two polite sentences that tell this applicant the result.⟫ ‹notes›",
    case(notes="«a.full», «age», from «place», wanted to be a driver at «org». We talked to ‹a.him› on «date» and liked ‹a.him›, but somebody else knows the town better and got "
               "the job. Signed by «b.full».",
         facts=facts("unfortunately|regret|sorry|not be able|another candidate|other candidate|not to move|decided to|not selected|unable|however", "position|job|role|interview|applic|applying|candidate|driver|interest")),
    case(notes="Interview of «a.full» («a.email») on «date» at «org». Very good in all parts, we want ‹a.him›: first day «date2», «salary» a year, office at «street». Letter by «b.full».",
         facts=facts("pleased|congratulat|happy|delighted|glad|excited|welcome|offer", "start|join|begin|first day|position|team|role|work")),
    case(notes="«a.full» passed the phone talk for the nurse's job at «hospital». Next comes a day on the ward, «date», from «early», with «b.full». We hope ‹a.he› can make it; "
               "phone «phone».",
         facts=facts("pleased|congratulat|happy|delighted|glad|invite|look forward|looking forward|inform|success|excited|thank", "ward|next|day|visit")),
    details="a.full", max_words=90,
)
template(
    "hr",
    '⟪Turn this into JSON with the keys "employee", "start", "salary" and "full_time" (true or false). ' + JSON_ONLY + "⟫ ‹text›",
    case(text="From «date» on «a.full», «street», «place», works for «org» for all five days of the week, full time, and gets «salary» a year. ‹a.His› number is «empid».", yes="true"),
    case(text="«org» takes on «a.full», born «dob», on «date», as a part-time cook for mornings only, with a yearly pay of «salary», sent to «iban».", yes="false"),
    case(text="New in the team of «b.full»: «a.full», «a.email», first day «date», «salary» a year. ‹a.He› looks after a child at home and therefore works half days only.", yes="false"),
    facts=facts('"full_time": ‹yes›|"full_time":‹yes›'), details="a.full", json_keys=["employee", "start", "salary", "full_time"],
)
template(
    "hr",
    "‹story› ⟪‹ask› " + FEW_WORDS + "⟫",
    case(story="Our rule at «org»: days off that are left over at the end of the year can be used until spring if the boss agrees in writing. «a.full» («empid») has «NUMBER|six» such days, and "
               "«b.full», ‹a.his› boss, agreed by letter on «DATE|3 December».",
         ask="Until when can the days be used?", facts=facts("spring")),
    case(story="Staff of «org» may work from home only after their first half year. «a.full» joined us in «place» two weeks ago and would like to stay at home on «weekday» because "
               "of ‹a.his› «ILLNESS|back pain».", ask="When may new staff work from home?", facts=facts("half year|half a year|six months|6 months|half-year|first half")),
    case(story="Anybody who is ill for more than three days must send «org» a note from the doctor. «a.full», «empid», stayed at home in «place» for just one day, «date», with "
               "«ILLNESS|a bad stomach», and was back the next morning.", ask="After how many days is a note needed?", facts=facts("three|3|four|4")),
    max_words=20,
)
template(
    "hr",
    "⟪‹ask›⟫ ‹text›",
    case(ask="List the three strengths as three short bullet points.",
         text="Review of «a.full», «empid», by «b.full», «date»: ‹a.He› explains hard things so that everybody understands them, stays calm when customers at «org» shout, and is always on time. "
              "Pay goes up to «salary».",
         facts=facts("expla|communicat|understand|clear", "calm|patien|composed", "on time|punctual|reliab|time")),
    case(ask="Which three things must be ready on the first day? Three short bullet points, please.",
         text="«a.full» starts at «org», «street», on «date» at «early». ‹a.He› needs a key to the building, a desk near the window because of ‹a.his› «ILLNESS|weak eyes», and a telephone. "
              "«b.full» shows ‹a.him› round.",
         facts=facts("key", "desk", "phone")),
    case(ask="Give me three short bullet points: why does this person leave?",
         text="Talk with «a.full» on «date», «place». ‹a.He› goes because the way to work takes two hours, because «b.full» shouted at ‹a.him› in front of others, and because «org2» pays "
              "«salary», which is more than we do.",
         facts=facts("two hours|way to|commut|travel|distance|long|2 hours", "shout|treat|yell|conflict|behav", "pay|salar|money|more")),
    bullets=3, max_words=60,
)
template(
    "hr",
    "‹text› ⟪Sum up this review in one short sentence.⟫",
    case(text="«a.full», «age», joined «org» in «place» in «joined». Everybody likes to work with ‹a.him› and ‹a.his› drawings are first class. But ‹b.Ms› «b.last» has to wait for them "
              "nearly every time, because ‹a.he› never hands them in on the agreed day.",
         facts=facts("late|deadline|on time|delay|wait|punctual|timel|agreed day|schedule|hand", "like|talent|good|great|skill|quality|excellent|first class|first-class|well|work")),
    case(text="This year «a.full» («empid») has sold more than anybody else at «org», «huge» in all. With colleagues it is harder: ‹a.he› does not share what ‹a.he› knows, and on «date» "
              "«b.full» asked to be moved to another room because of ‹a.him›.",
         facts=facts("sold|sales|sell|top|best|success|perform", "shar|colleague|team|difficult|harder|conflict|work with|coworker|interperson")),
    case(text="«b.full» about «a.full», «date»: at first ‹a.he› asked about every little thing and needed help all day. After «NUMBER|five» months at «org» ‹a.he› runs the shop on «road» "
              "alone, and other people now come to ‹a.him› with questions.",
         facts=facts("improv|grew|grown|progress|develop|independ|learn|now|confiden|from|become|evol|alone", "shop|store|run|help|question|lead|manag|alone|other")),
    max_words=40,
)
template(
    "hr",
    '⟪Write a subject line for this mail. Reply with one line that starts with "Subject:".⟫\n\n‹mail›',
    case(mail="Dear all,\n«a.full», who has kept our books at «org» since «joined», stops working at the end of «month». We meet in the canteen on «weekday» at «time» to wish ‹a.him› a good "
              "time with ‹a.his› garden and ‹a.his› grandchildren.\n«b.full»", facts=facts("retire|farewell|goodbye|leav|celebrat|send-off")),
    case(mail="Dear ‹a.Ms› «a.last»,\nfor your file, «empid», we still need a copy of your work permit. The old one ran out on «date», and without a new one «org» cannot pay you the «big» "
              "for «month».\n«b.full», «street», «place»", facts=facts("permit|document|expired|copy|file")),
    case(mail="Hi everybody,\nfrom «date» on «a.full» from «place» will be the new head of our team at «org»; ‹a.he› comes from «org2». Be there on «weekday» at «time» and say hello.\n«b.full»",
         facts=facts("new|welcome|head|lead|introduc|meet")),
    starts_with="Subject:", max_words=20,
)
template(
    "hr",
    "‹mail›\n\n⟪Which team should get this: payroll, IT or recruiting? Answer with one word.⟫",
    case(mail="Hello,\nmy wages for «month» came to «big» only, although I worked two days more than usual, the last one on «weekday». Something must be wrong with the sum. My account is still «iban».\n«a.full», "
              "«empid», «place»", word="payroll"),
    case(mail="Hi, «a.full» here, «empid». Since «early» my laptop shows a blue page and I cannot log in, not even as «a.email». I sit at «street» today and have to print a list for «b.full» "
              "before lunch.", word="it"),
    case(mail="Dear «org»,\nI read on your page that you look for a cook in «place». I am «age», have worked in kitchens since I left school and could begin on «date». My papers are "
              "attached.\n«a.full», «phone»", word="recruiting"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=5,
)
template(
    "hr",
    "⟪‹ask›⟫ ‹text›",
    case(ask="Rewrite this feedback so that it is kind and professional, in one sentence.",
         text="«a.first» is lazy. ‹a.He› shows up at «early», an hour late, nearly every «weekday», while «b.full» at «org» does all the work for both of them. I'm sick of it.",
         facts=facts("improv|could|would|encourage|opportunit|should|recommend|suggest|appreciate|important|support|help|concern|consisten|need",
                     "time|late|punctual|schedule|arriv|attendance|early|tardy|tardi")),
    case(ask="Rewrite this as kind advice to the employee, in one sentence.",
         text="Nobody can read what «a.full» («empid») writes. The report about «place» of «date» was so full of mistakes that ‹b.Ms› «b.last» had to do it all over again.",
         facts=facts("improv|could|would|encourage|opportunit|should|recommend|suggest|appreciate|important|support|help|benefit|attention|more clear|clearer|need",
                     "report|writ|clear|clarity|accura|error|mistake|detail")),
    case(ask="Can you turn this into one sentence of kind, professional advice?",
         text="In meetings «a.first» never shuts up. «b.first» and «c.first» from the «place» office cannot get a word in, and on «date» «org» nearly lost a client because ‹a.he› did not let him "
              "finish.",
         facts=facts("improv|could|would|encourage|opportunit|should|recommend|suggest|important|benefit|tend|need|often|consider|dominat|interrupt|frequent|difficult|disrupt|challeng|fail",
                     "listen|speak|talk|interrupt|others|voice|conversation|meeting|communicat")),
    details="", max_words=60,
)

# code

FENCE = "```"
template(
    "code",
    "⟪‹ask›⟫ ‹story›\n\n‹code›",
    case(ask="This Python script stops with a syntax error. Reply with the corrected line only.",
         story="It is meant to mail the bill to a customer of «org» in «place».",
         code='customer = "«a.full»"\nif customer = "«a.full»":\n    send_bill("«a.email»", amount=«AMOUNT|84.50»)', facts=facts("if customer ==|if customer==")),
    case(ask="Why does Python refuse this? Reply with the corrected line only.",
         story="The script prints the guests for the dinner in «place» on «date»; it worked until I changed it.",
         code='guests = ["«a.full»", "«b.full»", "«c.full»"]\nfor name in guests\n    print("Dear", name)', facts=facts("for name in guests:")),
    case(ask="Please find the typing mistake in this Python code and reply with the corrected line only.",
         story="I wrote it for the members of our club on «road», «place», and it does not even start.",
         code='member = {"name": "«a.full»", "phone": "«a.phone»"}\ndef greet(member):\n    print("Hello " + member["name"]\ngreet(member)',
         facts=facts('member["name"])|member[\'name\'])')),
    max_words=40,
)
template(
    "code",
    "‹story›\n\n‹code›\n\n⟪‹ask›⟫",
    case(story="A colleague at «org» left this behind when ‹a.he› moved to «place»:", code="SELECT name, phone FROM patients\nWHERE email = '«a.email»' AND born < '«isodob»'\nORDER BY name;",
         ask="Which table does the query read? Answer with the name of the table only.", word="patients"),
    case(story="We use this at «org» to look up what «a.full» has ordered since «date»:",
         code="SELECT o.total, c.town FROM orders o\nJOIN customers c ON o.customer_id = c.id\nWHERE c.name = '«a.full»' AND c.town = '«place»';",
         ask="Which column of orders points to the customer? Answer with the name of the column only.", word="customer_id"),
    case(story="This runs every night on our server in «place»:",
         code="SELECT name, salary FROM staff\nWHERE boss = '«a.full»' AND name <> '«b.full»'\nORDER BY hired_at DESC LIMIT «NUMBER|20»;",
         ask="By which column is the result sorted? Answer with the name of the column only.", word="hired_at"),
    facts=facts("‹word›"), max_words=4,
)
template(
    "code",
    "⟪‹ask›⟫ ‹story›\n\n" + FENCE + "sql\n‹code›\n" + FENCE,
    case(ask="This SQL does not run. Reply with the corrected query only.",
         story="It should list what «a.full» from «place» bought, the newest first.",
         code="SELECT id, total FROM orders\nWHERE customer = '«a.full»'\nORDER created_at DESC;", facts=facts("order by created_at")),
    case(ask="My query always comes back empty, although some bills are unpaid and have no date in paid_at. Reply with the corrected query only.",
         story="The customer is «a.full», «org».",
         code="SELECT id, total FROM bills\nWHERE email = '«a.email»'\nAND paid_at = NULL;", facts=facts("paid_at is null")),
    case(ask="The database complains about this query. Please reply with the corrected query only.",
         story="I want all members in «place» who are older than «b.first», with their phone numbers.",
         code="SELECT name, phone FROM members\nWHERE town = '«place»'\nAND WHERE age > «age»;", facts=facts("and age >")),
    details="", max_words=60,
)
template(
    "code",
    "‹story›\n\n‹code›\n\n⟪Is this open to SQL injection? " + YES_NO + "⟫",
    case(story="«a.full», who left «org» on «date», wrote this for our login page in «place»:",
         code='name = request.args["name"]  # e.g. «a.last»\ndb.execute(f"SELECT * FROM users WHERE name = \'{name}\'")', word="yes"),
    case(story="This is how we look up a patient at the «care», for example «a.full», born «isodob»:",
         code='name = input("Patient: ")\ndb.execute("SELECT * FROM patients WHERE name = ?", (name,))', word="no"),
    case(story="Our shop in «place» finds orders by mail address, such as «a.email», with this PHP line by «b.full»:",
         code='$rows = $db->query("SELECT * FROM orders WHERE email = \'" . $_GET["email"] . "\'");', word="yes"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=60,
)
template(
    "code",
    "⟪This JSON file does not parse. Name the mistake in one short sentence.⟫ ‹story›\n\n‹code›",
    case(story="It holds a customer of «org», and the import on «host» stops at it.",
         code='{\n  "name": "«a.full»",\n  "phone": "«a.phone»"\n  "town": "«place»"\n}', facts=facts("comma")),
    case(story="I typed in the data of our new colleague in «place» by hand, as «b.first» told me on «date».",
         code="{'name': '«a.full»', 'email': '«a.email»', 'age': «age»}", facts=facts("quot|apostrophe")),
    case(story="«a.full» sent it to me from «org» at «time», and I have to load it into the calendar of the practice before «weekday».",
         code='{"patient": "«b.full»",\n "illness": "«ill»",\n "visits": ["«isodate»", "«isodate2»"]', facts=facts("brace|bracket|curly|clos|}")),
    max_words=40,
)
template(
    "code",
    "⟪‹ask› " + YES_NO + "⟫‹story›\n\n‹code›",
    case(ask="Is it safe to put this file into a public repository?", story=" «b.first» wants to share the project tonight.",
         code="# settings of «a.full», «org», «place»\nPAYMENT_KEY = \"«secret»\"\nMAIL_USER = \"«a.email»\"\nMAIL_PASSWORD = \"«password»\"\nHOST = \"«host»\"\nDEBUG = False\nLANGUAGE = \"en\"",
         word="no"),
    case(ask="Does this log show personal data of a customer?", story=" I want to post it in a public forum, because «org» cannot help me.",
         code="«isodate» «TIME|10:02» INFO start\n«isodate» «TIME|10:03» WARN login failed for «a.email», phone «a.phone», address «street», «place»\n«isodate» «TIME|10:03» INFO retry\n«isodate» «TIME|10:04» INFO done",
         word="yes"),
    case(ask="Does this script delete any files?", story=" I found it on our server and must not lose anything.",
         code="#!/bin/sh\n# nightly copy for «org», written by «a.full», «date»\nmkdir -p /backup/«place.low»\ncp -r /srv/«a.user»/letters /backup/«place.low»/\necho \"copied\" | mail -s \"copy\" «a.email»",
         word="no"),
    facts=facts("‹word›"), one_of=["‹word›"], max_words=60,
)
template(
    "code",
    "‹story›\n\n    ‹code›\n\n⟪‹ask›⟫",
    case(story="My predecessor «a.full» left this line in the notes for our server in «place», last changed on «date»:",
         code="scp report.pdf «a.user»@«host»:/srv/«b.user»/inbox/", ask="What does the command do? Explain it in one short sentence.",
         facts=facts("cop|transfer|upload|send|sends", "file|report|pdf", "remote|server|host|machine|ssh|secure|inbox|directory")),
    case(story="«b.full» from «org» told me to run this when a mail to ‹b.him› does not come through:",
         code="grep -c \"«b.email»\" /var/log/mail.log", ask="Can you tell me in one short sentence what it prints?",
         facts=facts("number|count|how many|times")),
    case(story="This stands in the crontab of «a.user» on «host», and nobody at «org» dares to touch it:",
         code="0 3 * * * tar czf /backup/«a.user».tar.gz /home/«a.user»/letters", ask="What happens there, and when? One short sentence, please.",
         facts=facts("compress|archiv|tar|backup|zip", "3 am|3:00|3 a.m|three|03:00|at 3|daily|every day|each day|every night")),
    max_words=50,
)
template(
    "code",
    "⟪What does this Python code print? Answer with the output only.⟫ ‹story›\n\n‹code›",
    case(story="I keep the people of our choir in «place» in it, and «a.first» says it is wrong.", code='choir = ["«a.full»", "«b.full»", "«c.full»"]\nprint(len(choir))', facts=facts("3")),
    case(story="It is from the address book of «org», «street», and I do not have Python here.",
         code='entry = {"name": "«a.full»", "email": "«a.email»", "town": "«place»"}\nprint("phone" in entry)', facts=facts("false")),
    case(story="«a.full» wrote it to check the mail addresses of patients of the «care» in «place».", code='email = "«b.email»"\nif "@" in email:\n    print("valid")\nelse:\n    print("wrong")',
         facts=facts("valid")),
    max_words=4,
)
template(
    "code",
    "‹code›\n\n⟪Which programming language is this? Answer with one word.⟫ ‹story›",
    case(code="def greet(person):\n    return f\"Dear {person}, see you in «place» on «date».\"\n\nprint(greet(\"«a.full»\"))", one_of=["python"], facts=facts("python"),
         story="I found it in the mailbox of «b.full», who used to work for «org»."),
    case(code="UPDATE members SET street = '«street»', town = '«place»'\nWHERE name = '«a.full»' AND phone = '«a.phone»';", one_of=["sql", "mysql"], facts=facts("sql"),
         story="«b.full» from «org» pasted it into a chat on «date» and is gone for the day."),
    max_words=5,
)
template(
    "code",
    "⟪Which exception does this Python code raise? Answer with the name only.⟫ ‹story›\n\n‹code›",
    case(story="It should show the number of one of our patients at the «care» in «place».", code='patient = {"name": "«a.full»", "illness": "«ill»"}\nprint(patient["phone"])', facts=facts("keyerror")),
    case(story="My colleague «c.full» at «org» uses it to find the third guest of the trip on «date».", code='guests = ["«a.full»", "«b.full»"]\nprint(guests[2])', facts=facts("indexerror")),
    case(story="The line goes on a birthday card for a customer of «org» in «place», and it breaks every time.", code='name = "«a.full»"\nage = «age»\nprint("Happy birthday, " + name + "! You are " + age)',
         facts=facts("typeerror")),
    max_words=4,
)
template(
    "code",
    "⟪Write one SQL query for this. Reply with the query only.⟫ ‹story›",
    case(story="Our table people has the columns name, town and age. I need to know how many people live in «place»; «a.full» from «org» asked me for the number on «date».",
         facts=facts("count(", "where", "town"), details="place"),
    case(story="At «org» we have a table customers with the columns name, email and phone. «a.full» has a new address: it is «a.email» now, as ‹a.he› told us on the phone on «weekday».",
         facts=facts("update customers", "set", "where"), details="a.full a.email"),
    case(story="In the table bookings (columns guest, room, day) I want to remove everything of «a.full», who cancelled ‹a.his› trip to «place» on «date» and rang us from «phone».",
         facts=facts("delete from bookings", "where"), details="a.full"),
    max_words=50,
)
template(
    "code",
    "⟪Convert this JSON to CSV with a header line. Reply with the CSV only.⟫ ‹story›\n\n‹code›",
    case(story="It is for the list of guests that «c.full» prints on «weekday» at «time».",
         code='[{"name": "«a.full»", "town": "«place»", "age": «age»},\n {"name": "«b.full»", "town": "«place2»", "age": «age2»}]', facts=facts("name,town,age|name, town, age"),
         details="a.full b.full place"),
    case(story="The printer of our badges at «org» understands nothing else, says «c.first», and I need it before «date».",
         code='[{"name": "«a.full»", "role": "speaker"},\n {"name": "«b.full»", "role": "guest"}]', facts=facts("name,role|name, role", "speaker", "guest"),
         details="a.full b.full"),
    max_words=40,
)

# World: the private values of one prompt --------------------------------------


class Draw:
    """A stable generator: only random.random() is the same in every version of Python."""

    def __init__(self, name):
        self.random = random.Random(f"{SEED}/{name}").random

    def below(self, n):
        return int(self.random() * n)

    def pick(self, items):
        return items[self.below(len(items))]

    def some(self, items, n):
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(n)]


def ascii_of(name):
    name = name.translate(str.maketrans("łŁıđĐø", "lLidDo"))
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()


def person(draw, origin, sex):
    women, men, last = (names.split() for names in NAMES[origin])
    sex = sex or draw.pick("fm")
    first, last = draw.pick(women if sex == "f" else men), draw.pick(last)
    user = ascii_of(first[0] + last).lower()
    address = ascii_of(draw.pick([f"{first}.{last}", f"{first[0]}.{last}", f"{first}{10 + draw.below(80)}"])).lower()
    private = {
        "full": ("PERSON", f"{first} {last}"), "first": ("PERSON", first), "last": ("PERSON", last), "user": ("ID", user),
        "email": ("EMAIL", f"{address}@{draw.pick(['example.com', 'example.org', 'mail.example.net'])}"),
        "phone": ("PHONE", phone(draw)),
    }
    he, his, him = ("she", "her", "her") if sex == "f" else ("he", "his", "him")
    public = {"Ms": "Ms" if sex == "f" else "Mr", "he": he, "his": his, "him": him, "He": he.title(), "His": his.title()}
    return private, public


def workday(draw, first, days):
    while True:
        day = first + datetime.timedelta(draw.below(days))
        if day.weekday() < 5:
            return day


def phone(draw):
    area, line = draw.pick(AREAS), f"555-01{draw.below(100):02}"
    return draw.pick([f"({area}) {line}", f"{area}-{line}", f"+1 {area} {line}"])


def world(draw, sexes):
    """All private values that a template can name, with their labels, and the words that go with them."""
    private, public = {}, {}
    for who, origin in zip("abc", draw.some(NAMES, 3)):
        mine, words = person(draw, origin, sexes.get(who))
        private |= {f"{who}.{key}": value for key, value in mine.items()}
        public |= {f"{who}.{key}": value for key, value in words.items()}

    day, later = workday(draw, datetime.date(2025, 1, 1), 600), None
    while later is None or later.weekday() == day.weekday():
        later = workday(draw, day + datetime.timedelta(3), 15)
    joined, left = (f"{draw.pick(MONTHS)} {first + draw.below(4)}" for first in (2014, 2020))
    style = draw.pick(["{0.day} {m}", "{m} {0.day}", "{0.day} {m} {0.year}", "{m} {0.day}, {0.year}", "{0.day:02}/{0.month:02}/{0.year}"])
    show = lambda d: style.format(d, m=MONTHS[d.month - 1])  # noqa: E731
    ages = draw.some(range(27, 84), 2)
    born = datetime.date(2025 - ages[0], 1 + draw.below(12), 1 + draw.below(28))
    hour, minute = 9 + draw.below(9), draw.pick([0, 15, 30, 40, 45])
    time = draw.pick([f"{hour}:{minute:02}", f"{(hour - 1) % 12 + 1}:{minute:02} {'am' if hour < 12 else 'pm'}"])
    currency = draw.pick("££$$€")
    amount = draw.pick([f"{60 + draw.below(840)}", f"{60 + draw.below(840)}.{draw.pick(['50', '20', '95', '80'])}"])
    ill, drug, dose = draw.pick(TREATMENTS)
    firms, branches = draw.some(FIRMS, 2), draw.some(BRANCHES, 2)
    streets, places = draw.some(STREETS, 2), draw.some(PLACES, 3)
    org = f"{firms[0]} {branches[0]}"
    number = lambda digits: str(10 ** (digits - 1) + draw.below(9 * 10 ** (digits - 1)))  # noqa: E731
    private |= {
        "date": ("DATE", show(day)), "date2": ("DATE", show(later)), "isodate": ("DATE", day.isoformat()), "isodate2": ("DATE", later.isoformat()),
        "weekday": ("DATE", f"{day:%A}"), "weekday2": ("DATE", f"{later:%A}"), "month": ("DATE", MONTHS[later.month % 12]),
        "joined": ("DATE", joined), "left": ("DATE", left), "isodob": ("DATE", born.isoformat()),
        "early": ("TIME", f"{7 + draw.below(3)}:{minute:02} am"), "late": ("TIME", f"{1 + draw.below(3)}:{minute:02} am"),
        "dob": ("DATE", show(born) if "year" in style else f"{born.day} {MONTHS[born.month - 1]} {born.year}"), "time": ("TIME", time),
        "age": ("NUMBER", str(ages[0])), "age2": ("NUMBER", str(ages[1])), "amount": ("AMOUNT", currency + amount),
        "small": ("AMOUNT", f"{currency}{12 + draw.below(40)}.{draw.pick(['50', '20', '95', '80'])}"),
        "rent": ("AMOUNT", f"{currency}{draw.pick(['', '1,'])}{5 + draw.below(5)}{draw.pick(['00', '20', '50', '85'])}"),
        "big": ("AMOUNT", f"{currency}{1 + draw.below(8)},{100 + draw.below(900)}"),
        "huge": ("AMOUNT", f"{currency}{140 + draw.below(700)},000"),
        "salary": ("AMOUNT", f"{currency}{27 + draw.below(50)},{draw.pick(['000', '500', '200', '800'])}"),
        "ill": ("ILLNESS", ill), "drug": ("DRUG", drug), "dose": ("NUMBER", dose), "drug2": ("DRUG", draw.pick(["Cetirizine", "Promethazine"])),
        "org": ("ORG", org), "org2": ("ORG", f"{firms[1]} {branches[1]}"), "firm": ("ORG", firms[0]),
        "care": ("ORG", f"{draw.pick(HOUSES)} {draw.pick(CARE)}"), "hospital": ("ORG", f"{draw.pick(HOUSES)} Hospital"),
        "place": ("PLACE", places[0]), "place2": ("PLACE", places[1]), "place.low": ("PLACE", ascii_of(places[0]).lower().replace(" ", "-")),
        "road": ("ADDRESS", streets[0]), "street": ("ADDRESS", f"{2 + draw.below(120)} {streets[0]}"), "street2": ("ADDRESS", f"{2 + draw.below(120)} {streets[1]}"),
        "phone": ("PHONE", phone(draw)), "email": ("EMAIL", f"{draw.pick(['office', 'info', 'service'])}@{firms[0].lower()}.example.com"),
        "order": ("ID", f"{number(5)}-{draw.pick('KRTX')}"), "invoice": ("ID", f"{draw.pick(['INV-', 'R-', ''])}{number(5)}"), "custno": ("ID", number(7)),
        "empid": ("ID", f"E-{number(5)}"), "id": ("ID", f"{draw.pick('HMPW')}{draw.pick('AX')}-{number(6)}"), "iban": ("ID", draw.pick(IBANS)), "card": ("ID", draw.pick(CARDS)),
        "secret": ("ID", "sk-test-" + "".join(draw.pick("abcdefghkmnpqrstuvwxyz23456789") for _ in range(20))),
        "password": ("ID", f"{draw.pick(['Tulip', 'Raven', 'Maple'])}-{number(4)}"),
        "host": ("OTHER", f"{draw.pick(['docs', 'db1', 'box7'])}.{firms[0].lower()}.example.org"),
    }
    # drawn last, so that the values above stay as they are
    private["old"] = ("NUMBER", str(61 + draw.below(28)))
    private["pm"] = ("TIME", f"{2 + draw.below(4)}:{minute:02} pm")
    return private, public


# Making a prompt ----------------------------------------------------------------

MARK = re.compile(r"«([^«»]+)»|⟪|⟫")


def fill(text, values):
    """Puts the case's ‹keys› in, which may hold others."""
    while "‹" in text:
        text = re.sub(r"‹([^‹›]+)›", lambda match: values[match[1]], text)
    return text


def render(text, private):
    """The text, its spans and its instruction."""
    out, spans, bounds, at = "", [], [], 0
    for match in MARK.finditer(text):
        out += text[at : match.start()]
        at = match.end()
        if not match[1]:
            bounds.append(len(out))
            continue
        if match[1].startswith("firm "):  # a firm of a given branch
            label, value = "ORG", private["firm"][1] + match[1][4:]
        else:
            label, value = match[1].split("|") if "|" in match[1] else private[match[1]]
        spans.append({"start": len(out), "end": len(out) + len(value), "label": label})
        out += value
    out += text[at:]
    start, end = bounds
    return out, spans, out[start:end]


def prompt(kind, number, text, given, rest):
    name = f"{kind}-{number:02}"
    given = rest | given
    sexes = dict(pair.split("=") for pair in given.pop("sex", "").split())
    private, public = world(Draw(name), sexes)
    values = public | {key: value for key, value in given.items() if isinstance(value, str)}
    text, spans, instruction = render(fill(text, values), private)
    details = given.get("details", "")
    rules = {key: given[key] for key in ("one_of", "starts_with", "json_keys", "bullets", "min_words", "max_words") if key in given}
    if "one_of" in rules:
        rules["one_of"] = [fill(word, values) for word in rules["one_of"]]
    return {
        "id": name, "kind": kind, "text": text, "instruction": instruction, "spans": spans,
        "facts": [[fill(word, values) for word in fact] for fact in given["facts"]],
        "details": [details[1:]] if details[:1] == "=" else [private[key][1] for key in details.split()], "format": rules,
    }


def prompts():
    made = []
    for kind, templates in KINDS.items():
        cases = [(text, given, rest) for text, cases, rest in templates for given in cases]
        made += [prompt(kind, number, *parts) for number, parts in enumerate(cases, 1)]
    # mixed, so that the first so many are of all kinds
    return sorted(made, key=lambda one: hashlib.sha256(one["id"].encode()).digest())


# Judging, as README.md says -------------------------------------------------------


def facts_hold(answer, wanted):
    answer = answer.lower()
    return all(any(word in answer for word in fact) for fact in wanted)


def format_holds(answer, rules):
    words, lead = answer.split(), answer.lstrip(" \t\r\n*_#`\"'").lower()
    first = re.search(r"[^\W_]+", answer.lower())
    checks = {
        "max_words": lambda n: len(words) <= n,
        "min_words": lambda n: len(words) >= n,
        "one_of": lambda options: first is not None and first[0] in options,
        "starts_with": lambda start: lead.startswith(start.lower()),
        "json_keys": lambda keys: has_keys(answer, keys),
        "bullets": lambda n: len(re.findall(r"(?m)^\s*(?:[-*•]|\d+[.)])\s", answer)) == n,
    }
    return all(checks[name](value) for name, value in rules.items())


def has_keys(answer, keys):
    try:
        value = json.loads(answer[answer.find("{") : answer.rfind("}") + 1])
    except ValueError:
        return False
    return isinstance(value, dict) and set(keys) <= set(value)


def passes(answer, one):
    return facts_hold(answer, one["facts"]) and format_holds(answer, one["format"])


# Checks and output ----------------------------------------------------------------


def faults(made):
    """What is wrong with the prompts, one line each."""
    found = []
    if len(made) != COUNT or len({one["id"] for one in made}) != COUNT or len({one["text"] for one in made}) != COUNT:
        found.append(f"{len(made)} prompts instead of {COUNT}, or two alike")
    for kind, templates in KINDS.items():
        if len(templates) < 10 or max(len(cases) for _, cases, _ in templates) > 4:
            found.append(f"{kind}: too few templates, or too many prompts of one")
    for one in made:
        text, end = one["text"], 0
        spans = [text[span["start"] : span["end"]] for span in one["spans"]]
        start = text.find(one["instruction"])
        problems = {
            "a mark of the template is left": re.search("[«»‹›⟪⟫]", text),
            "no spans": not spans,
            "a fact is missing or not in lower case": not one["facts"] or any(not word or word != word.lower() for fact in one["facts"] for word in fact),
            "the instruction does not occur once": text.count(one["instruction"]) != 1 or one["instruction"] != one["instruction"].strip(),
            "a private value in the instruction": any(s["start"] < start + len(one["instruction"]) and start < s["end"] for s in one["spans"]),
            f"{len(text.split())} words": len(text.split()) not in WORDS,
            "a detail is no span": set(one["details"]) - set(spans),
            "a fact is a private value": any(word in span.lower() for fact in one["facts"] for word in fact if len(word) > 2 for span in spans),
            "an echo passes": passes(text, one),
            "an echo of the instruction passes": passes(one["instruction"], one),
            "a refusal passes": passes(REFUSAL, one),
        }
        found += [f"{one['id']}: {problem}" for problem, is_so in problems.items() if is_so]
        for span, value in zip(one["spans"], spans):
            cut = text[span["start"] - 1 : span["start"]].isalnum() and value[0].isalnum() or text[span["end"] :][:1].isalnum() and value[-1].isalnum()
            if span["start"] < end or value != value.strip() or not value or cut or span["label"] not in LABELS:
                found.append(f"{one['id']}: bad span {span}")
            end = span["end"]
        # a private value written without its label: every place where it stands must be in a span
        for value in {value for value in spans if len(value) > 3}:
            for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text):
                if not any(s["start"] <= match.start() and match.end() <= s["end"] for s in one["spans"]):
                    found.append(f"{one['id']}: {value!r} stands without a label")
    return found


def card(made):
    kinds, labels = collections.Counter(one["kind"] for one in made), collections.Counter(span["label"] for one in made for span in one["spans"])
    rules = collections.Counter(name for one in made for name in one["format"])
    print("| kind | prompts | templates | spans | words, median |\n|---|---|---|---|---|")
    for kind, count in kinds.items():
        mine = [one for one in made if one["kind"] == kind]
        words = sorted(len(one["text"].split()) for one in mine)
        print(f"| {kind} | {count} | {len(KINDS[kind])} | {sum(len(one['spans']) for one in mine)} | {words[len(words) // 2]} |")
    print("\n| label | spans |\n|---|---|")
    for label in LABELS:
        print(f"| {label} | {labels[label]} |")
    print("\n| rule | prompts |\n|---|---|")
    for name, count in rules.most_common():
        print(f"| `{name}` | {count} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is not what would be written")
    parser.add_argument("--card", action="store_true", help="print the tables of README.md")
    given = parser.parse_args()
    made = prompts()
    if given.card:
        return card(made)
    found = faults(made)
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    echoes = sum(passes(one["text"], one) for one in made)
    by_facts = sum(facts_hold(one["text"], one["facts"]) for one in made)
    print(f"{len(made)} prompts, {sum(map(len, KINDS.values()))} templates, {len(found)} faults", file=sys.stderr)
    print(f"the prompt itself as an answer: {echoes} pass; {by_facts - echoes} hold the facts but not the format", file=sys.stderr)
    data = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made).encode()
    if given.check and FILE.read_bytes() != data:
        sys.exit(f"{FILE.name} is not what would be written")
    if found:
        sys.exit(1)
    if not given.check:
        FILE.write_bytes(data)


if __name__ == "__main__":
    main()
