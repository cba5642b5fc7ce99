"""Hand-written lists of the lexicon, each short enough to read.

They hold what no package says well: which ordinary words are sensitive, which
names are languages, software or companies, and which words no release may hold.
"""


def words(text: str) -> list[str]:
    return text.split()


# Contractions and words that are ordinary whatever SCOWL's size says.
ORDINARY_EXTRA = words("""
I I'm I'll I've I'd email emails emailed emailing e-mail e-mails website websites online offline internet app apps
smartphone smartphones blog blogs download downloads downloaded downloading upload uploads uploaded uploading login
username usernames password passwords okay ok bye hello hi hey yeah yes no thanks please sorry dear mom dad mum daddy mommy
granddaughter grandson grandmother grandfather grandma grandpa stepmother stepfather stepson stepdaughter
girlfriend boyfriend roommate coworker coworkers colleague colleagues teenager teenagers toddler
bullet bullets paragraph paragraphs summarize summarise summarized summary rewrite rewriting translate translated translating
translation translations rephrase paraphrase proofread brainstorm headline headlines hashtag spreadsheet
spreadsheets laptop laptops tablet tablets screenshot homework essay essays recipe recipes resume resumes
cannot someone everybody anybody nobody everyone anyone something anything nothing everything
gonna wanna gotta kinda that'll who'd who'll who're who've how'd how'll why'd where'd
invoice invoices invoiced reimbursement euro euros cents deadline deadlines backend frontend endpoint
inbox outbox booking bookings rebook reschedule rescheduled instalment instalments installment installments overdue unpaid prepaid
payer payers payee payees lender lenders borrower borrowers lessee lessor sublet landlady landladies indemnify remit forthwith
hereby herein thereof whereas notwithstanding addendum annex payslip payslips payroll timesheet timesheets onboarding
offboarding recruiter recruiters recruiting handover canteen workmen workman kilo kilos spreadsheet stapler projector
out-of-office part-time full-time follow-up check-in check-out take-off hand-over sign-up two-sentence one-sentence
today tomorrow yesterday tonight weekday weekdays weekend weekends
ca wo sha kg mg mcg ml cl cm mm km lb lbs oz ft mph kph kb mb gb tb ghz mhz kw kwh am
""")

# Words of programs: what languages, shells and queries reserve, and names that most programs use.
CODE = words("""
abs alter arg args argv asc async autoincrement await awk begin bool boolean break by byte bytes cat cd char chmod chown chr
class cmd coalesce commit config const constraint continue cp create cron crontab curl cwd datetime db dbs debug def default 
delete desc dev dict diff dir dirname distinct div drop echo elif else endif endpoint enum env eof error eval except exec export
extends extern false fatal finally float fn for foreach foreign from full func function getattr global goto grep group
groupby gzip having href idx if img impl import in index info init inline inner input insert instanceof int integer interface
iter join key kwargs lambda left len let libs limit localhost log logger login ls malloc map mkdir mut mv namespace new
nonlocal null nullable num obj offset order os outer params parse parseint parser passwd ping pop primary print printf
println private proc protected pub public push py qty query raise range readme references regex repo repos req retry
return rgb right rm rmdir rollback root rsync scp select self serial sh src srv static std stderr stdin stdout strcmp
strlen struct substr sudo switch sys table tar tbody timestamp tmp todo touch trace trait trigger true try tuple typedef typeof
uint union unsigned untar update usr utf uuid values var varchar vec view vim void warn warning wget where while xargs yield
zsh
""")

# Short for what every office has; in capitals, and no state's or country's code.
ABBREVIATIONS = words("""
IT HR CEO CFO CTO COO CV QA UI UX PC CD DIY FYI ASAP ETA KPI ROI SEO CRM ERP GPS PS RSVP TBD VAT VIP NGO MBA PhD AI ML EOD
PTO NDA SLA TOS OTP SMS LED LCD HDMI IDE SDK CLI GUI
""")

# No name even with a capital inside a sentence: what opens a quotation, a clause after a colon, or a title.
CAPITAL_ANYWHERE = set(words("""
the this that these those a i you he she we they it's my your his her its our their what which when where why how who's what's
please hello hi hey thanks thank dear yes if and or but because although while since before after with without from for of to by
about into is are was were be been has have had does did can could would should must not there here then also however
therefore if let's don't can't i'm you're we're they're it's that's there's write translate summarize summarise explain describe
rewrite create give tell show find list make answer convert generate correct check compare suggest provide
street road hospital clinic pharmacy school college university library museum hotel restaurant airport department office company team
doctor nurse professor manager director mum mom dad aunt uncle grandma grandpa police insurance project invoice section chapter
figure table
"""))

# Never `n`: these open questions, requests and sentences far too often.
NEVER_NAME = words("""
will may can it who us is in do an am be if at so the art see best love long well more just even very good first
last then there here now please thanks hello dear yes no say give take let show tell find make write read get go put
keep call ask help need want use try run look come think know explain describe list compare create suggest provide
hi nice close free high heard hurt hung sang shook means numbers person reading link post block counts self harder small
translate summarize summarise rewrite correct check fix draft generate answer explain convert design plan
""")

# Kinds of their own, by themselves or beside a number: not drawn as words.
MONTHS_AND_WEEKDAYS = words("""
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
January February March April May June July August September October November December
""")
DAYS = MONTHS_AND_WEEKDAYS + words("""
Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays
Christmas Easter Thanksgiving Halloween Ramadan Passover Hanukkah Chanukah Diwali Eid Lent Advent Pentecost Epiphany
Whitsun Michaelmas Candlemas Juneteenth Kwanzaa Purim Sukkot Shavuot Carnival Yuletide Christmastime Eastertide
Midsummer Holi Vesak Nowruz Ascension Assumption Hogmanay Oktoberfest Whitsuntide Shrovetide Lammas
mid-January mid-February mid-March mid-April mid-May mid-June mid-July mid-August mid-September mid-October
mid-November mid-December Jan Feb Apr Aug Sept Oct Nov Dec Mon Tue Wed Thu Fri Sat
""")
DAYS_UNLISTED = set(MONTHS_AND_WEEKDAYS + words("Jan Feb Apr Aug Sept Oct Nov Dec Mon Tue Wed Thu Fri Sat Assumption Ascension"))

# `k`, part one: languages. An instruction may need them.
LANGUAGES = words("""
English French German Spanish Italian Portuguese Dutch Swedish Norwegian Danish Finnish Icelandic Polish Czech Slovak
Hungarian Romanian Bulgarian Serbian Croatian Bosnian Slovenian Macedonian Albanian Greek Turkish Russian Ukrainian
Belarusian Lithuanian Latvian Estonian Arabic Hebrew Persian Farsi Kurdish Pashto Urdu Hindi Bengali Punjabi Gujarati
Marathi Tamil Telugu Kannada Malayalam Sinhalese Nepali Tibetan Burmese Thai Lao Khmer Vietnamese Chinese Mandarin
Cantonese Japanese Korean Mongolian Indonesian Malay Tagalog Filipino Swahili Yoruba Hausa Igbo Zulu Xhosa
Afrikaans Amharic Somali Latin Sanskrit Esperanto Catalan Basque Galician Irish Welsh Gaelic Yiddish Armenian
Georgian Azerbaijani Kazakh Uzbek Turkmen Maltese Luxembourgish Flemish
""")
# Of these, `k` goes to the languages of more than forty million native speakers and to those after which no people is called.
# The name of a smaller people's language says too much about a person who is called so.
BIG_LANGUAGES = set(words("""
English French German Spanish Italian Portuguese Russian Arabic Persian Farsi Turkish Chinese Mandarin Cantonese Japanese Korean Vietnamese
Hindi Urdu Bengali Punjabi Marathi Telugu Tamil Gujarati Hebrew Latin Sanskrit Esperanto Swahili Tagalog Afrikaans
"""))
# `k`, part two: programming languages, formats, software, web services.
SOFTWARE = words("""
Python Java JavaScript TypeScript Rust Perl PHP SQL HTML CSS XML JSON YAML TOML CSV PDF LaTeX Markdown Haskell
Scala Kotlin Fortran COBOL Lisp Clojure Erlang Elixir Prolog MATLAB Bash PowerShell Golang
Excel PowerPoint Outlook OneNote Photoshop InDesign Acrobat Word SharePoint OneDrive Office
Windows Linux Ubuntu Debian Fedora Unix macOS iOS Android Chrome Firefox Safari Gmail Google YouTube Facebook
Twitter Instagram WhatsApp TikTok Snapchat LinkedIn Reddit Pinterest Tumblr Wikipedia Skype Zoom Slack Discord Telegram
Dropbox GitHub GitLab Docker Kubernetes Terraform Ansible Git Django Flask React Angular Vue jQuery 
WordPress Drupal Shopify Salesforce Photoshop AutoCAD Blender MySQL PostgreSQL SQLite MongoDB Redis Hadoop 
NumPy Pandas TensorFlow PyTorch ChatGPT Netflix Spotify PayPal eBay Uber Airbnb iPhone iPad
Kindle Xbox PlayStation Nintendo iTunes Trello Jira Notion Evernote Bluetooth Wi-Fi USB URL HTTP HTTPS API 
JPEG PNG GIF SVG ASCII Unicode VBA SSH FTP DNS VPN CPU GPU RAM SSD TV DVD ATM PIN ID FAQ ZIP IBAN OpenOffice LibreOffice
""")
# Numbers in words. Strings with digits that are no numbers (3rd, 60s, B12) become one of them.
NUMERALS = words("""
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million dozen dozens
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
seventeenth eighteenth nineteenth twentieth thirtieth hundredth
twenties thirties forties fifties sixties seventies eighties nineties
""")
# Forms of address: listed, and protected, since they say a sex, a degree or a rank. So many that the hundred nearest of one are
# others.
TITLES = words("""
Mr Mrs Ms Mx Miss Dr Prof Professor Doctor Nurse Captain Colonel General Major Sergeant Lieutenant Corporal Commander
Admiral Brigadier Marshal Capt Col Gen Sgt Lt Cmdr Officer Detective Inspector Constable Sheriff Superintendent Chief Judge Justice
Attorney Counselor Senator Congressman Congresswoman Governor Mayor Councillor Councilman Councilwoman President Chairman
Chairwoman Chancellor Premier Minister Secretary Ambassador Consul Delegate Commissioner Director Dean Provost Principal Headmaster Rector
Reverend Rev Father Sister Brother Mother Pastor Deacon Vicar Chaplain Bishop Archbishop Cardinal Abbot Abbess Prior Rabbi Imam Sheikh
Lord Lady Dame Baron Baroness Count Countess Earl Duke Duchess Marquis Viscount Prince Princess King Queen Emperor Empress Sultan Master
Mistress Aunt Auntie Uncle Grandma Grandpa Granny Grandfather Grandmother Cousin Coach Chef Herr Frau Monsieur Madame Mademoiselle Signor
Signora Senor Senora Don
""")
# Ordinary as they are written: they open letters to nobody in particular.
GREETINGS = words("Sir Madam")

COMPANIES = words("""
Microsoft Apple Amazon Intel IBM Dell Lenovo Toshiba Sony Samsung Panasonic Philips Siemens Bosch Nokia Motorola
Ericsson Huawei Xiaomi Hitachi Fujitsu Canon Nikon Kodak Xerox Cisco Adobe Nvidia AMD Qualcomm SAP Tesla Ford Chevrolet Chrysler
Toyota Honda Nissan Mazda Subaru Suzuki Hyundai Kia Volkswagen Audi BMW Mercedes Porsche Volvo Saab Fiat Ferrari
Lamborghini Maserati Renault Peugeot Citroen Skoda Opel Vauxhall Bentley Jaguar Rover Jeep Dodge Buick Cadillac Pontiac
Lexus Acura Infiniti Boeing Airbus Lockheed Raytheon Northrop Embraer Lufthansa Ryanair EasyJet Qantas Delta Emirates
Walmart Costco Target Safeway Kroger Tesco Sainsbury Asda Aldi Lidl Carrefour IKEA Walgreens CVS Nordstrom Sears
Kmart Gucci Prada Chanel Dior Versace Armani Burberry Hermes Rolex Cartier Tiffany Nike Adidas Puma Reebok Zara Primark
Uniqlo Starbucks Subway Nestle Unilever Danone Kellogg Kraft Heinz Coca-Cola Pepsi PepsiCo Budweiser
Heineken Guinness Carlsberg Smirnoff Pfizer Novartis Roche Bayer Merck AstraZeneca GlaxoSmithKline Sanofi Moderna
Lilly Medtronic BASF DuPont Monsanto Exxon ExxonMobil Chevron Texaco Shell Mobil Gazprom Lukoil Petrobras Halliburton
Goldman Citigroup Citibank Barclays HSBC Lloyds Natwest Santander UBS Deutsche JPMorgan Morgan Visa Mastercard Amex Allianz AXA
Aviva Prudential MetLife Aetna Cigna Humana Deloitte KPMG Accenture McKinsey Reuters Bloomberg CNN BBC NBC ABC CBS
ESPN HBO MTV Disney Pixar Paramount Lucasfilm Warner Nickelodeon Marvel Lego Mattel Hasbro Verizon Comcast Vodafone Sprint
Yahoo AOL Expedia Tripadvisor Alibaba Tencent Baidu Twitch Hulu Lyft FedEx UPS DHL NASA FBI CIA NSA NATO UNESCO
UNICEF WHO FIFA UEFA NBA NFL IMF OPEC Interpol Greenpeace Oxfam Amnesty Harvard Yale Princeton Stanford Oxford Cambridge
Cornell Dartmouth Caltech Berkeley MIT Pentagon Kremlin Bundestag Knesset Congress Senate Parliament Google Facebook
Twitter Instagram YouTube Netflix Spotify PayPal eBay Uber Airbnb LinkedIn Oracle Nintendo Hilton Marriott Hyatt
Sheraton Michelin Goodyear Firestone Caterpillar Komatsu Whirlpool Electrolux Dyson Gillette Colgate Procter Revlon
Avon Lancome Maybelline Garnier Nivea Pampers Kleenex Tupperware Pyrex Rubbermaid Duracell Timex Casio Yamaha Fender Gibson
Steinway Roland Ducati Kawasaki Harley-Davidson Vespa Michelob Nescafe Nutella Cadbury Hershey Toblerone Lindt Ferrero
Enron WorldCom Lehman Siemens Thyssen Nestle Halifax Westinghouse Honeywell Bechtel Raytheon Unisys Compaq Gateway Acer Asus
""")
COMPANIES_UNLISTED = set(words("Target Subway Shell Mobil Sprint WHO Visa Gateway Canon Apple Ford Morgan Lilly Gibson Congress"
                               " Senate Parliament Pampers UPS SAP Deutsche Delta Rover Puma Roland Fender Procter"
                               " Google Facebook Halifax Cambridge Oxford Berkeley Jaguar Dodge Tiffany Warner"))

ILLNESS = words("""
burnout abortion ache aches aching addict addicted addiction addictive addicts ailment AIDS HIV alcoholic alcoholics alcoholism
allergic allergies allergy amputated anaesthetic anesthesia anesthetic anorexia antibiotic antibiotics antidepressant
antidepressants anxiety arthritis aspirin asthma asthmatic autism autistic bacteria bandage biopsy bipolar bleed bleeding
blind blindness bruise bruises bulimia cancer cancers cardiac chemotherapy chickenpox cholera cholesterol chronic clinic clinical clinics
cocaine coma concussion constipation contagious contraception cough coughing coughs cramps crippled dementia dental dentist
dentists deaf deafness depressed depression diabetes diabetic diagnose diagnosed diagnoses diagnosis dialysis diarrhea diarrhoea
disabilities disability disabled disease diseases disorder disorders dizziness dizzy dose doses dosage drug drugs eczema ebola
epidemic epilepsy epileptic fatigue fever fevers flu fracture fractured fractures germs gout hallucinations hangover headache headaches
heroin hepatitis herpes hospital hospitals hospitalized hypertension ill illness illnesses infected infection infections infectious infertility
inflammation influenza inhaler injection injections injured injuries injury insane insanity insomnia insulin itch itching itchy jaundice
kidney leprosy lesion leukemia lupus malaria marijuana measles medication medications medicinal medicine medicines
melanoma meningitis menopause mental mentally migraine migraines morphine mumps nausea neurosis numbness nurse nurses obese obesity
operation opioid overdose overweight pain painful painkiller painkillers pains palsy paralysed paralysis paralyzed
paranoia paranoid patient patients penicillin pharmacist pharmacy phobia physician physicians pill pills plague pneumonia poison
poisoned poisoning polio prescribed prescription prescriptions psoriasis psychiatric psychiatrist psychiatrists psychologist psychosis psychotic
rabies rash rehab relapse rheumatism scar scars schizophrenia schizophrenic sclerosis seizure seizures sick sickness
smallpox smoker smokers sore sores sprain steroid steroids stroke strokes stutter suicidal suicide suicides surgeon
surgeons surgeries surgery surgical swelling swollen symptom symptoms syndrome syphilis tetanus therapist therapists therapy therapies
thyroid transplant trauma traumatic tuberculosis tumor tumors tumour tumours typhoid ulcer ulcers unhealthy vaccinated vaccination
vaccine vaccines vomit vomiting ward wheelchair wound wounded wounds x-ray gonorrhea chlamydia metformin ibuprofen
paracetamol acetaminophen codeine oxycodone fentanyl amoxicillin lisinopril atorvastatin amlodipine omeprazole losartan
gabapentin hydrochlorothiazide sertraline simvastatin montelukast escitalopram furosemide pantoprazole trazodone
fluticasone tramadol prednisone bupropion fluoxetine duloxetine carvedilol clopidogrel venlafaxine citalopram
tamsulosin rosuvastatin meloxicam clonazepam warfarin naproxen zolpidem cyclobenzaprine methylphenidate alprazolam lorazepam
diazepam methadone albuterol salbutamol ventolin azithromycin ciprofloxacin doxycycline cephalexin levothyroxine
propranolol atenolol metoprolol spironolactone lamotrigine quetiapine risperidone olanzapine aripiprazole lithium
Viagra Cialis Prozac Zoloft Xanax Valium Ritalin Adderall Tylenol Advil Aleve Lipitor Crestor Humira Ozempic Botox Nexium
Lexapro Paxil Wellbutrin Celexa Ambien Vicodin OxyContin Percocet Motrin Claritin Zyrtec Benadryl COVID Alzheimer
Parkinson Crohn fibromyalgia endometriosis bronchitis emphysema sinusitis tonsillitis appendicitis dermatitis colitis cirrhosis
gastritis cystitis conjunctivitis glaucoma cataract cataracts hernia haemorrhoids hemorrhoids scoliosis osteoporosis anemia anaemia
hemophilia thrombosis embolism aneurysm angina arrhythmia tachycardia hypotension hypoglycemia sepsis shingles ringworm lice scabies
acne vertigo tinnitus dyslexia dyslexic ADHD PTSD OCD COPD autoimmune inpatient outpatient hospice detox ibuprofen placebo
cardiac abdominal vascular renal urinary coronary diabetic inflammatory spinal cardiovascular metabolic cervical lesions lesion tumors
tumours cancers bipolar catheter prescriptions medications glucose psychiatric respiratory gastric hepatic pulmonary neurological prenatal
postpartum intravenous impairment impairments acupuncture chemotherapy hypertension inflammation arthritis hepatitis influenza steroids allergies
diabetics testosterone
hormonal handicapped cannabis abnormalities digestion cerebral
""")
# The class `I` of these is left out: their common sense is harmless.
ILLNESS_DRUGS = set(words("""
aspirin antibiotic antibiotics antidepressant antidepressants cocaine heroin insulin marijuana morphine penicillin steroid steroids
painkiller painkillers ibuprofen paracetamol acetaminophen codeine oxycodone fentanyl metformin amoxicillin lisinopril atorvastatin
amlodipine omeprazole losartan gabapentin hydrochlorothiazide sertraline simvastatin montelukast escitalopram furosemide pantoprazole
trazodone fluticasone tramadol prednisone bupropion fluoxetine duloxetine carvedilol clopidogrel venlafaxine citalopram tamsulosin
rosuvastatin meloxicam clonazepam warfarin naproxen zolpidem cyclobenzaprine methylphenidate alprazolam lorazepam diazepam methadone
albuterol salbutamol ventolin azithromycin ciprofloxacin doxycycline cephalexin levothyroxine propranolol atenolol metoprolol spironolactone
lamotrigine quetiapine risperidone olanzapine aripiprazole lithium Viagra Cialis Prozac Zoloft Xanax Valium Ritalin Adderall Tylenol
Advil Aleve Lipitor Crestor Humira Ozempic Botox Nexium Lexapro Paxil Wellbutrin Celexa Ambien Vicodin OxyContin Percocet Motrin
Claritin Zyrtec Benadryl medication medications medicine medicines pill pills vaccine vaccines opioid placebo
"""))

BODY = words("""
abdomen ankle ankles anus arteries artery beard belly bladder bone bones bowel bowels brain brains breast breasts
buttock buttocks cheek cheeks chest chin colon ear ears elbow elbows eyebrow eyelid fingernail fingers finger fingertip
forehead genital genitals gland glands groin gum gums hair heartbeat heel heels hip hips intestine intestines jaw jaws joints kidney
kidneys knee knees larynx leg legs ligament limb limbs lip lips liver lung lungs muscle muscles navel neck necks nerve nerves
nipple nipples nose noses ovary pancreas pelvis penis prostate rectum rib ribs scalp shin shoulder shoulders skeleton skin skull
spine spleen stomach stomachs tendon testicle testicles thigh thighs throat throats thumb thumbs toe toes tongue tongues tonsils tooth teeth
torso uterus vagina vein veins waist womb wrist wrists
""")

RELIGION = words("""
Allah altar angel angels Anglican Anglicans atheism atheist atheists baptism baptised Baptist Baptists baptized Bible Bibles biblical bishop
bishops blasphemy Buddha Buddhism Buddhist Buddhists burqa Calvinist cathedral Catholic Catholicism Catholics chapel chaplain Christ christened
Christian Christianity Christians church churches clergy congregation convent crucifix deacon devout diocese divinity Eucharist
evangelical evangelicals faith faiths fundamentalist God goddess gospel halal heathen heaven hell heresy heretic Hindu Hinduism Hindus
hijab holy hymn hymns imam Islam Islamic Islamist Jehovah Jesuit Jesus Jew Jewish Jews Judaism Koran Quran kosher Lutheran Lutherans
Mennonite Messiah Methodist Methodists minister ministry missionaries missionary monastery monk monks Mormon Mormons mosque mosques
Muhammad Muslim Muslims nun nuns orthodox pagan pagans papal parish parson pastor pastors pilgrim pilgrimage pope pray
prayed prayer prayers praying preach preacher preachers preaching Presbyterian priest priests prophet prophets Protestant Protestantism Protestants
psalm Puritan Quaker Quakers rabbi rabbis redemption religion religions religious reverend rosary sabbath sacrament saint saints salvation
Satan scripture scriptures sect sects secular sermon sermons shrine Shia Sikh Sikhism Sikhs sin sinful sinner sinners sins Sufi Sunni
synagogue synagogues Talmud temple temples theologian theological theology Torah vicar worship worshipped Zen Zion Taoism Taoist Shinto
agnostic agnostics Scientology Scientologist Amish Hasidic Pentecostal Unitarian Adventist Confucian Jain Zoroastrian
baptism prophets gods bible mosque spirituality
""")

POLITICS = words("""
activist activists anarchist anarchists anarchy ballot ballots capitalism capitalist capitalists communism communist communists
conservatism conservatives Conservative Conservatives democrat democrats Democrat Democrats Democratic dictator dictators dictatorship
dissident election elections electoral electorate elected voter voters vote voted votes voting fascism fascist fascists feminism
feminist feminists leftist leftists liberals liberalism Liberal Liberals Labour Tory Tories Whig Marxism Marxist Marxists nationalism
nationalist nationalists Nazi Nazis Nazism parliament parliamentary political politically politician politicians politics propaganda protester
protesters racism racist racists radicals referendum republican republicans Republican Republicans senator senators separatist
socialism socialist socialists strike strikes striker strikers trade-union unionist unions congressman congresswoman governor ideology
Bolshevik Maoist Stalinist Trotskyist Leninist Zionist Zionism Libertarian libertarian populist populism Brexit Remainer Brexiteer monarchist
royalist right-wing left-wing far-right far-left centrist Trump Biden Obama Clinton Thatcher Blair Putin Greens
demonstrator demonstrators
conservatives senator
""")

SEXUALITY = words("""
abortion abortions asexual bisexual bisexuals celibate condom condoms contraceptive contraceptives erotic erection fertility
gay gays gender genders heterosexual heterosexuals homosexual homosexuality homosexuals intersex intercourse lesbian lesbians LGBT
masturbate masturbation menstrual menstruation miscarriage naked nude nudity nonbinary non-binary orgasm pansexual
porn pornographic pornography pregnancies pregnancy pregnant prostitute prostitutes prostitution puberty queer semen sex sexes sexual sexuality
sexually sexy sperm surrogate transgender transgendered transsexual transsexuals transvestite trans virgin virginity virgins hormone hormones
cisgender polyamorous fetish lust affair affairs divorced divorce divorces adultery adulterous mistress infidelity
obstetric obstetrician gynecologist gynaecologist midwife IVF
swingers bondage spanking orgy threesome escorts masturbating horny porno
estrogen fetal fetus fertile
""")

CRIME = words("""
abuse abused abuser abuses abusive accomplice accused alibi armed arrest arrested arrests arson assassin assassinated assassination assault
assaulted assaults attacker bail blackmail bomb bombed bomber bombing bombings bombs bribe bribed bribery bribes burglar burglars burglary
convict convicted conviction convictions convicts corpse corrupt corruption crime crimes criminal criminals cruelty culprit custody
defendant defendants deport deported detained detainee embezzlement execution extortion felon felony firearm firearms
forged forgery fraud fraudulent fugitive gang gangs gangster gangsters genocide gun gunman guns guilt guilty handcuffs
harassed harassment hijack hijacked homicide hostage hostages illegal illegally illicit imprisoned imprisonment incest inmate inmates
jail jailed kidnap kidnapped kidnapper kidnapping knife knives looting mafia massacre molested mugged mugger murder murdered
murderer murderers murderous murders offender offenders parole perjury pistol police policeman policemen prison
prisoner prisoners prisons probation prosecuted prosecution prosecutor rape raped rapes rapist rapists rifle rifles robbed robber robberies robbers robbery
sentenced shoplifting shooting shootings slaughter smuggle smuggled smuggler smugglers smuggling stab stabbed stabbing stalker stalking steal stealing
stole stolen strangled suspect suspects terrorism terrorist terrorists theft thefts thief thieves torture tortured trafficking
trespass vandalism victim victims violence violent violently weapon weapons witness-protection undocumented manslaughter pedophile
paedophile larceny misdemeanor warrant
felony murders plaintiff plaintiffs unlawful negligence
""")

MONEY = words("""
alimony bankrupt bankruptcies bankruptcy broke creditor creditors debt debtor debtors debts dividend dividends dole earnings foreclosure
heir heiress income incomes indebted inheritance inherit inherited insolvent lease loan loans millionaire millionaires mortgage mortgaged
mortgages overdraft overdrawn owe owed owes owing paycheck payday payroll pension pensioner pensioners pensions pawn poverty rent rents
salaries salary savings severance stipend tax taxes taxpayer unemployed unemployment jobless wage wages wealth wealthy welfare redundancy
billionaire evicted eviction repossessed payslip
foreclosure paycheck paychecks
foreclosed
""")

# Words of the lists above or of WordNet whose common sense is harmless: never sensitive.
HARMLESS = set(words("""
sick ill pain pains painful illness illnesses disease diseases drug drugs doctor police
rent rents rental owe owed owes owing lease tax taxes taxpayer loan loans mortgage mortgages income incomes salary salaries savings
wage wages pension pensions payroll payday paycheck paychecks earnings payslip severance
operation operations ward strike strikes minister ministry orthodox patient executions execution temple affair affairs suspect
back head hand hands face eye eyes heart arm arms foot feet body bodies mouth side tail nail nails palm sole trunk vessel temple joint
gum crown frame digit organ organs organ's system member members tissue cell cells tube drum root roots dash mass cold condition
conditions attack attacks complaint complaints burn burns cut cuts stress strain shock bug bugs rush spot spots stone stones tic
block growth swell sting spell fit fits fault stitch wind gas thirst hunger hungry thirsty breakdown collapse crisis pressure
exhaustion frustration distress discomfort trouble hurt damage treatment treatments care remedy remedies cure cures tonic balm
cream oil solution solutions lotion agent agents tablet tablets speed crack grass pot weed smack dope acid ice joy snow hash
party parties state states court courts right left charge charges case sentence sentences cell cells bar bars fine fines
offence offense trial trials jury judge judges law laws lawyer lawyers hit beat beats battle battles fight fights war wars conflict
interest rate rates cost costs price prices pay pays paid payment payments bill bills bank banks money cash credit account accounts
diagnose diagnosed diagnosis prescribed prescription dose doses dosage symptom symptoms patients hospital hospitals clinic clinical
medicine medicines medication physician physicians nurse nurses dentist surgeon surgeons therapist psychologist psychiatrist
pharmacy surgery surgical therapy painful angel angels heaven hell holy police policeman governor broke divorce divorced unions votes
founder founders fund funds budget profit profits loss losses share shares bond bonds gift balance change return check checks
""") )

FUNCTION = words("""
i you he she it we they me him her us them my your his its our their mine yours hers ours theirs who whom whose which what when
where why how this that these those will would shall should can could may might must ought need dare do does did done be am is are was were
been being have has had having not no nor and or but if then else because although though unless until while since than as so too very
of to in on at by for from with without within into onto upon over under about above below between among through during before after
against toward towards across along around behind beside besides beyond despite except inside near off out outside past per
up down again once here there all any both each few more most other some such only own same every either neither another many much
several enough just also even ever never always often perhaps maybe rather quite yet still already almost else instead however therefore
thus hence whether via versus a an the oh yes ok okay
""")

DEMONYMS = words("""
American Americans British Briton Britons English Englishman Irishman Scottish Scot Scots Welsh Irish Canadian Canadians Mexican Mexicans
Brazilian Brazilians Argentine Argentinian Chilean Colombian Peruvian Venezuelan Cuban Cubans Jamaican Haitian African Africans Asian Asians
European Europeans Australian Australians Aussie Kiwi Indian Indians Pakistani Pakistanis Afghan Afghans Iranian Iranians Iraqi Iraqis Israeli
Israelis Palestinian Palestinians Saudi Saudis Egyptian Egyptians Moroccan Algerian Tunisian Libyan Syrian Syrians Lebanese Jordanian
Kuwaiti Yemeni Nigerian Nigerians Ghanaian Kenyan Ethiopian Somali Sudanese Ugandan Tanzanian Congolese Rwandan Zimbabwean Zambian
Russians Ukrainians Poles Pole Germans Italians Spaniard Spaniards Greeks Turk Turks Swede Swedes Dane Danes Finn Finns Austrian
Austrians Swiss Belgian Belgians Dutchman Frenchman Frenchmen Hispanic Hispanics Latino Latinos Latina Chicano Arab Arabs Arabian Kurd Kurds
Singaporean Malaysian Bangladeshi Taiwanese Scandinavian Nordic Slavic Slav Balkan Soviet Soviets Roman Romans Byzantine Ottoman
Sicilian Parisian Londoner Texan Californian Hawaiian Alaskan Cherokee Navajo Apache Sioux Aboriginal Maori Inuit Caucasian
African-American Asian-American Caribbean Persian Tibetan Bavarian Prussian Cypriot Icelander Norwegian Norwegians
""")

# Words that open lines of an address: never ordinary with a capital.
ADDRESS = set(words("""
suite apt apartment flat unit floor room building block tower box street avenue road lane drive court square corner place terrace
crescent gate port mill house villa cottage lodge farm hill park bridge station north south east west upper lower old new
"""))

# Given names that are ordinary words as well.
GIVEN_WORDS = set(words("""
Rose Mark Grace Hope Faith Joy Dawn Iris Ivy Lily Daisy Violet Ruby Pearl Amber Jade Crystal Heather Holly Hazel Olive Ginger Sandy Rusty Rocky
Bill Bob Frank Jack Rob Gene Ray Guy Drew Earl Duke Dean Grant Miles Chase Chance Hunter Mason Carter Cooper Parker Tyler Taylor Baker Brown Black
White Green Gray Grey King Knight Bishop Pope Young Cook Price Wood Woods Stone Hill Hall Field Fields Brooks Lake Rivers Banks Bell Ball
Bush Fox Wolf Lamb Bird Crane Swan Fish Page Palmer Porter Potter Fisher Carpenter Butler Cole Day Summers Winters Snow Frost Rice Berry Cherry
Penny Bridge Bridges Church Temple Love Rich Sharp Short Small Little Long Strong Wise Golden Silver Cross Marsh Moss Reed Rush
Summer Autumn April June August May Angel Carol Melody Harmony Sky Star Destiny Trinity Charity Patience Prudence Victor Basil Clay Cliff Dale
Glen Heath Lane Wade Ward Weaver Turner Walker Hunt Singer Shepherd Mason Gardner Archer Bowman Chandler Dyer Farmer Glover
Hooper Sawyer Skinner Slater Smith Spencer Steward Stewart Tanner Taylor Wagner Webb Wells Wheeler Wright Christian Jordan Paris
"""))
# Mere letters, fragments and markup that SCOWL or the text would let in.
NOT_WORDS = set(words("""
ii iii iv vi vii viii ix xi xii etc eg ie re ll ve ain aren couldn didn doesn hadn hasn haven isn mightn mustn needn shan
shouldn wasn weren wouldn don th st nd rd vs co ex non pre anti pp ed eds ff al et de la le el du von van der den
wont dont cant didnt doesnt isnt wasnt cs em es os hes sh mi ho tho yea sic ala h'm amp ref sod zit zits maw ye rep ED LE MI MS ADD ALS AAA MPS NEC RES SOB TIA San Iwo god-awful
"""))
# Offensive beyond the sources, and what the sources call offensive though it is not.
OFFENSIVE = words("""bastard bastards bitch bitches crap damn damned dumbass moron morons retard retarded retards slut sluts whore whores wanker ass asses tit tits
gypsy gypsies commie commies eskimo eskimos goon goons fatty sod gal hussy idiot idiots bugger bollocks imbecile savages
nazi nazis nazism satan stalinist""")
# Not offensive, but nobody wants to read them in a release of a letter about a knee or a pregnancy.
INTIMATE = words("""
penis vagina anus scrotum testicle testicles foreskin genital genitals urethra rectum semen masturbate masturbation orgasm erection
porn pornographic pornography fetish
""")
NOT_OFFENSIVE = words("""
sex sexual sexually sexuality sexy gay gays lesbian lesbians homosexual homosexuals bisexual breast breasts anal
erotic sperm condom womb uterus ovary menstruate menstrual menses
nude nudity naked god hell heroin cocaine drunk weed pot crack opium opiate meth marijuana murder rape raped rapist kill
racist urine sucked sucking bum stupid fat ugly hole knob screw screwed strip strips stroke tramp thrust valium viagra virgin vomit weird
pubic queer racy rump seduce servant slave snatch snuff taste abortion addict addicts alcohol booze bloody blow bosom bowel bowels bra
bust carnal climax corrupt crotch dense domination dummy enlargement ecstasy facial fairy fear felt freaky girls gonad grope
herpes hiv hump incest jerk junkie junky kinky leper lust lusting naked organ oral panties pawn pedophile playboy rectal sadism sadist
smack stoned swallow sniper thug tampon transsexual urinal urinary violence violate vulgar weirdo butt buttocks lady ladies man men
heathen christ jesus steamy shiny potty pee barf revue trashy unwed femme phallic pcp lsd pms steamy whiz
Paddy Guido Cox Dick
""".lower())
