"""Small closed word lists that the rules of both languages share. No list is meant as complete.

A word missing here costs recall, never precision: rules that need a list say nothing without it.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The blank-separated words of a list written as one text."""
    return frozenset(text.split())


#: language name (lower case or Chinese) -> BCP 47 tag
LANGUAGES: dict[str, str] = {
    "afrikaans": "af",
    "albanian": "sq",
    "amharic": "am",
    "arabic": "ar",
    "armenian": "hy",
    "azerbaijani": "az",
    "azeri": "az",
    "basque": "eu",
    "belarusian": "be",
    "bengali": "bn",
    "bosnian": "bs",
    "breton": "br",
    "bulgarian": "bg",
    "burmese": "my",
    "cantonese": "yue",
    "catalan": "ca",
    "chinese": "zh",
    "croatian": "hr",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "esperanto": "eo",
    "estonian": "et",
    "faroese": "fo",
    "farsi": "fa",
    "persian": "fa",
    "filipino": "fil",
    "tagalog": "tl",
    "finnish": "fi",
    "flemish": "nl",
    "french": "fr",
    "frisian": "fy",
    "galician": "gl",
    "georgian": "ka",
    "german": "de",
    "greek": "el",
    "guarani": "gn",
    "gujarati": "gu",
    "hausa": "ha",
    "hawaiian": "haw",
    "hebrew": "he",
    "hindi": "hi",
    "hungarian": "hu",
    "icelandic": "is",
    "igbo": "ig",
    "indonesian": "id",
    "irish": "ga",
    "gaelic": "gd",
    "italian": "it",
    "japanese": "ja",
    "javanese": "jv",
    "kannada": "kn",
    "kazakh": "kk",
    "khmer": "km",
    "korean": "ko",
    "kurdish": "ku",
    "kyrgyz": "ky",
    "lao": "lo",
    "latin": "la",
    "latvian": "lv",
    "lithuanian": "lt",
    "luxembourgish": "lb",
    "macedonian": "mk",
    "malay": "ms",
    "malayalam": "ml",
    "maltese": "mt",
    "mandarin": "zh",
    "maori": "mi",
    "marathi": "mr",
    "mongolian": "mn",
    "nepali": "ne",
    "norwegian": "no",
    "pashto": "ps",
    "polish": "pl",
    "portuguese": "pt",
    "punjabi": "pa",
    "quechua": "qu",
    "romanian": "ro",
    "romansh": "rm",
    "russian": "ru",
    "sami": "se",
    "samoan": "sm",
    "sanskrit": "sa",
    "serbian": "sr",
    "shona": "sn",
    "sinhala": "si",
    "slovak": "sk",
    "slovene": "sl",
    "slovenian": "sl",
    "somali": "so",
    "spanish": "es",
    "castilian": "es",
    "swahili": "sw",
    "swedish": "sv",
    "tamil": "ta",
    "telugu": "te",
    "thai": "th",
    "tibetan": "bo",
    "tigrinya": "ti",
    "turkish": "tr",
    "twi": "tw",
    "ukrainian": "uk",
    "urdu": "ur",
    "uzbek": "uz",
    "vietnamese": "vi",
    "welsh": "cy",
    "wolof": "wo",
    "xhosa": "xh",
    "yiddish": "yi",
    "yoruba": "yo",
    "zulu": "zu",
    "hokkien": "nan",
    "hakka": "hak",
    "中文": "zh",
    "汉语": "zh",
    "普通话": "zh",
    "国语": "zh",
    "华语": "zh",
    "粤语": "yue",
    "广东话": "yue",
    "白话": "yue",
    "闽南语": "nan",
    "闽南话": "nan",
    "客家话": "hak",
    "上海话": "wuu",
    "吴语": "wuu",
    "英语": "en",
    "英文": "en",
    "日语": "ja",
    "日文": "ja",
    "韩语": "ko",
    "韩文": "ko",
    "朝鲜语": "ko",
    "法语": "fr",
    "法文": "fr",
    "德语": "de",
    "德文": "de",
    "西班牙语": "es",
    "西语": "es",
    "西班牙文": "es",
    "葡萄牙语": "pt",
    "葡语": "pt",
    "俄语": "ru",
    "俄文": "ru",
    "意大利语": "it",
    "意语": "it",
    "阿拉伯语": "ar",
    "泰语": "th",
    "越南语": "vi",
    "印尼语": "id",
    "马来语": "ms",
    "印地语": "hi",
    "荷兰语": "nl",
    "瑞典语": "sv",
    "挪威语": "no",
    "丹麦语": "da",
    "芬兰语": "fi",
    "波兰语": "pl",
    "捷克语": "cs",
    "希腊语": "el",
    "土耳其语": "tr",
    "希伯来语": "he",
    "波斯语": "fa",
    "乌克兰语": "uk",
    "匈牙利语": "hu",
    "罗马尼亚语": "ro",
    "蒙古语": "mn",
    "藏语": "bo",
    "维吾尔语": "ug",
    "拉丁语": "la",
    "世界语": "eo",
}

#: spoken name of a time zone (lower case) -> IANA name or offset
TIME_ZONES: dict[str, str] = {
    "utc": "+00:00",
    "gmt": "+00:00",
    "cet": "+01:00",
    "cest": "+02:00",
    "eet": "+02:00",
    "eest": "+03:00",
    "wet": "+00:00",
    "west": "+01:00",
    "msk": "+03:00",
    "bst": "+01:00",
    "est": "-05:00",
    "edt": "-04:00",
    "mst": "-07:00",
    "mdt": "-06:00",
    "pst": "-08:00",
    "pdt": "-07:00",
    "cdt": "-05:00",
    "jst": "+09:00",
    "kst": "+09:00",
    "sgt": "+08:00",
    "hkt": "+08:00",
    "aest": "+10:00",
    "aedt": "+11:00",
    "nzst": "+12:00",
    "nzdt": "+13:00",
    "eastern": "America/New_York",
    "eastern time": "America/New_York",
    "us eastern": "America/New_York",
    "central time": "America/Chicago",
    "us central": "America/Chicago",
    "mountain time": "America/Denver",
    "us mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
    "pacific time": "America/Los_Angeles",
    "us pacific": "America/Los_Angeles",
    "beijing time": "Asia/Shanghai",
    "china standard time": "Asia/Shanghai",
    "北京时间": "Asia/Shanghai",
    "东八区": "+08:00",
    "东九区": "+09:00",
    "东七区": "+07:00",
    "零时区": "+00:00",
    "日本时间": "Asia/Tokyo",
    "东京时间": "Asia/Tokyo",
    "伦敦时间": "Europe/London",
    "纽约时间": "America/New_York",
}

#: animals kept as pets, English singular
PETS = word_set(
    "dog puppy cat kitten rabbit bunny hamster gerbil mouse rat parrot budgie budgerigar canary "
    "cockatiel cockatoo parakeet finch goldfish fish turtle tortoise snake python lizard gecko "
    "iguana chameleon frog ferret horse pony donkey goat sheep pig piglet chicken hen rooster "
    "duck goose chinchilla hedgehog axolotl tarantula guinea-pig guineapig labrador poodle "
    "beagle dachshund terrier corgi collie retriever spaniel greyhound whippet husky mutt tomcat "
    "bulldog pug chihuahua rottweiler dalmatian shepherd mastiff setter pointer llama alpaca "
    "lovebird crow raven owl"
)

#: things that people say they have and mean that they own; English singular
THINGS = word_set(
    "apartment bass bicycle bike boat bungalow cabin cabinet cafe camera camper campervan canoe "
    "car caravan cello clarinet coat computer console cottage couch drone drill dinghy dress "
    "drumkit ebike e-bike espresso-machine farm farmhouse flat flute forklift garage garden grill "
    "guitar harp hatchback headset house houseboat instrument ipad iphone jacket jeep kayak "
    "keyboard kiln kindle lab laptop ladder lathe lawnmower loom lorry macbook mandolin "
    "microscope minivan moped motorbike motorcycle motorhome mower oven paddleboard phone piano "
    "pickup playstation printer projector record-player raft rowboat sailboat saxophone "
    "scooter sedan sewing-machine shed shop skateboard skis smartphone smartwatch snowboard "
    "sofa surfboard tablet tandem telescope tent toaster toolbox tractor trailer trombone truck "
    "trumpet tuba turntable typewriter ukulele unicycle van vineyard viola violin wagon watch "
    "wetsuit workshop xbox yacht synthesizer accordion banjo collection vinyl records kayaks "
    "tesla volvo toyota honda vespa skoda"
)

#: last words of the names of employers and other organisations, lower case
ORGANISATION_NOUNS = word_set(
    "academy agency airlines airways associates association authority bakery bank books brewery "
    "bros brothers builders bureau cafe café capital catering centre center chamber church "
    "clinic co co. college company consultancy consulting construction cooperative corp council "
    "corporation dairy department design digital dynamics electric electronics energy "
    "engineering enterprises farms federation films finance firm fisheries foods foundation "
    "freight gallery games garage gmbh group guild holdings hospital hospitals hotel hotels inc "
    "inc. industries institute insurance interiors international joinery kitchen lab laboratory "
    "labs landscaping law library lines llc llp logistics ltd ltd. magazine maps marine media "
    "mills ministry motors museum networks news nursery office optics orchards paper partners "
    "pharma pharmacy photography pictures plc post practice press print printing productions "
    "properties publishing radio railway railways records repairs research restaurant robotics "
    "school schools security semiconductors services shipping shipyard software solar solutions "
    "sons station steel store stores studio studios supplies surveys surveyors systems "
    "technologies technology tech telecom textiles theatre theater tools toys trading transport "
    "travel trust university ventures veterinary vineyards water winery works workshop zoo "
    "architects ag sa nv bv oy ab as"
)

#: bodies that one is a member of (not employed by), lower case
CLUB_NOUNS = word_set(
    "club choir band orchestra team society association union party league squad troupe ensemble "
    "fellowship brigade committee board cooperative co-op collective federation guild gym group "
    "chapter lodge fc community council crew quartet trio network circle congregation scouts "
    "alliance order quartet"
)

#: last words of the names of places of study, lower case
SCHOOL_NOUNS = word_set(
    "university college school academy institute polytechnic conservatory conservatoire uni "
    "gymnasium lyceum faculty tech seminary"
)

#: head nouns of occupations, English singular, lower case
OCCUPATIONS = word_set(
    "accountant actor actress actuary administrator advisor adviser agent analyst anaesthetist "
    "animator apprentice archaeologist architect archivist artist assistant astronomer "
    "astronaut athlete auditor author baker banker barber barista bartender beekeeper biologist "
    "blacksmith bookbinder bookkeeper bookseller botanist bricklayer broker builder butcher "
    "cameraman captain cardiologist carer caretaker carpenter cartographer cashier caterer "
    "ceo cfo cto coo chef chemist chiropractor choreographer cleaner clerk coach coder comedian "
    "composer conductor conservator consultant contractor cook coordinator copywriter "
    "counsellor counselor courier curator cto dancer dentist dermatologist designer detective "
    "developer dietitian director diver doctor driver ecologist economist editor educator "
    "electrician engineer entrepreneur estimator executive farmer filmmaker firefighter fireman "
    "fisherman florist founder co-founder freelancer gardener geologist geographer glassblower "
    "goldsmith guard guide hairdresser handyman head historian housekeeper illustrator "
    "inspector instructor interpreter investigator investor janitor jeweller jeweler joiner "
    "journalist judge lawyer lecturer librarian lifeguard linguist locksmith logistician "
    "machinist magician manager marketer mason mathematician mechanic meteorologist "
    "microbiologist midwife miner model musician nanny neurologist notary novelist nurse "
    "nutritionist oceanographer operator optician optometrist painter paralegal paramedic "
    "pastor pathologist pediatrician paediatrician pharmacist philosopher photographer "
    "physicist physician physiotherapist pianist pilot planner plumber poet policeman "
    "policewoman politician porter potter postman priest principal producer professor "
    "programmer prosecutor psychiatrist psychologist psychotherapist publisher radiographer "
    "radiologist ranger realtor receptionist recruiter referee reporter researcher roofer "
    "sailor salesman salesperson saleswoman scientist sculptor seamstress secretary "
    "shopkeeper singer sociologist soldier solicitor sommelier specialist statistician "
    "steward stewardess strategist student superintendent supervisor surgeon surveyor tailor "
    "teacher technician technologist tester therapist trainer translator treasurer "
    "tutor typist undertaker undergraduate upholsterer vet veterinarian violinist waiter "
    "waitress watchmaker weaver webmaster welder winemaker writer zookeeper zoologist "
    "paediatrician trainee intern postdoc sysadmin devops machinist rabbi imam nun monk "
    "lead officer worker representative foreman headteacher headmaster headmistress "
    "cabinetmaker stonemason luthier brewer distiller forester ferryman"
)

#: colours, drinks, foods …: what an option is an instance of, English singular
OPTION_KINDS: dict[str, str] = {
    word: kind
    for kind, words in {
        "Drink": "tea coffee espresso latte cappuccino water juice wine beer cider lemonade cocoa "
        "milk soda cola whisky whiskey rum gin vodka smoothie matcha chai kombucha americano "
        "decaf rooibos",
        "Food": "pickle cilantro coriander bread rye wheat cheese chocolate pasta pizza sushi rice "
        "olive tomato mushroom onion garlic broccoli spinach kale fish meat beef pork chicken "
        "lamb tofu egg soup salad curry noodle dumpling cake pie ice-cream candy liquorice "
        "licorice raisin anchovy pineapple banana apple mango strawberry blueberry raspberry "
        "cherry grape melon durian nut peanut walnut almond hazelnut yoghurt yogurt butter honey "
        "jam marmalade vegemite marmite seafood shellfish oyster prawn shrimp crab herring "
        "aubergine eggplant courgette zucchini beetroot celery cabbage sauerkraut kimchi potato "
        "fries burger sandwich porridge oatmeal muesli croissant bagel waffle pancake cookie "
        "biscuit pastry dessert breakfast ginger cinnamon mint mustard ketchup mayonnaise "
        "pear peach plum apricot fig date lentil bean chickpea pea corn carrot turnip radish",
        "Seat": "seat aisle window-seat aisle-seat",
        "CallTime": "call meeting",
        "Colour": "red green blue yellow purple orange pink black white grey gray brown turquoise "
        "teal beige violet colour color",
        "Season": "spring summer autumn winter fall",
        "Music": "jazz blues techno opera folk metal punk reggae hip-hop music",
        "Animal": "cat dog spider snake bird horse",
        "Transport": "train bus tram plane ferry bike bicycle car",
        "Sport": "football soccer tennis basketball volleyball hockey rugby cricket golf "
        "badminton rowing swimming running cycling climbing hiking skiing",
    }.items()
    for word in words.split()
}

#: figures of speech: nobody is allergic to these
NO_SUBSTANCES = word_set(
    "morning mornings monday mondays work working meeting meetings nonsense bullshit people "
    "exercise exercising stupidity drama commitment effort fun deadline deadlines spreadsheets "
    "paperwork waiting change small talk bureaucracy boredom school homework lies liars "
    "powerpoint slides email emails politics him her them you this that it everything nothing "
    "anything something authority rules planning housework cleaning cooking winter summer cold "
    "early queues crowds jargon hype idiots fools losing failure"
)

#: diet word (lower case) -> the name of the diet
DIETS: dict[str, str] = {
    "vegetarian": "vegetarian",
    "veggie": "vegetarian",
    "vegan": "vegan",
    "pescatarian": "pescatarian",
    "pescetarian": "pescatarian",
    "flexitarian": "flexitarian",
    "fruitarian": "fruitarian",
    "lacto-vegetarian": "lacto-vegetarian",
    "halal": "halal",
    "kosher": "kosher",
    "keto": "keto",
    "ketogenic": "keto",
    "paleo": "paleo",
    "gluten-free": "gluten-free",
    "gluten free": "gluten-free",
    "low-carb": "low-carb",
    "low carb": "low-carb",
    "dairy-free": "dairy-free",
    "dairy free": "dairy-free",
    "plant-based": "plant-based",
    "plant based": "plant-based",
    "mediterranean": "mediterranean",
    "carnivore": "carnivore",
    "raw": "raw",
    "raw vegan": "raw vegan",
    "low-sodium": "low-sodium",
    "sugar-free": "sugar-free",
    "lactose-free": "lactose-free",
    "low-fodmap": "low-fodmap",
}
