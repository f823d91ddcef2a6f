// Common passwords: from the list in @zxcvbn-ts/language-common (MIT, from public leaks) those of 12 characters and more, and the most
// frequent words, with a few of this trade. A new password must not be one of them, nor one of them with digits and signs around it, nor a
// few repeated characters.
const words = new Set(
  `
010203040506 012345678910 014702580369 01telemike01 050605rostik 102030405060 1111111111zz 111222333000 111222333444555 112233445566
122333444455555 123123qweqwe 123321123321 123321456654 123321qweewq 123456654321 12345677654321 123456782000 1234567887654321 123456789000
12345678900987654321 123456789012 1234567890987654321 1234567890qaz 1234567890qw 1234567890qwe 1234567890qwerty 1234567890zzz 123456789101
123456789123 1234567892000 12345678987654321 123456789987654321 123456789aaa 123456789abc 123456789asd 123456789qaz 123456789qqq
123456789qwe 123456789qwer 123456789qwerty 123456789zxc 1234567qwertyu 123456qwerty 123456zxcvbn 1234qwerasdf 1234qwerasdfzxcv
123ewqasdcxz 123qwe123qwe 123qwe456rty 123qweasdzxc 123qwerty123 12qw34er56ty 159753159753 159753456852 193570356033 19960610ilja
1a2a3a4a5a6a 1a2s3d4f5g6h 1q2w3e4r5t6y 1qa2ws3ed4rf 1qa2ws3ed4rf5tg 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw23edc 1qazxsw23edcvfr4
23176djivanfros 23wkoa0fp78dk 31217221027711 32615948worms 41d8cd98f00b 420842084208555 4815162342lf 4815162342lost 541233432442
59382113kevinp 6215mila6215 742617000027 89063032220m 89231243658s 89876065093rax 89semtsriuty a1s2d3f4g5h6 aardvark abc123456789 abgrtyu
abigail access accord action adgjmptw adidas admin18533362 administrator adrian africa airborne airforce airplane aksjdlasdakj89879
alabama alaska albert alberto alejandr aleksandr alexande alexander alexandr alexis alfred alicia alison allison alpha135792468 alpine
always alyssa amadeus amadeusptfcor amanda amateur america american an83546921an13 anakin anastasia anderson andrea andreas andrei andrew
andrewjackie andrey angela angelica angelina angelo angels animal antananarivu anthony antonio anubis anything anytimetoday apache apollo
apples aragorn archer archie arizona arnold arthur artist asd123asd123 asdasd asdfasdf asdfgh asdfgh123456 asdfghj asdfghjk asdfghjkl
asdfghjkl123 asdzxc ashley athena atlanta atlantis auckland2010 audrey august aurora austin autumn avalon avatar avrillavigne awesome
azerty babydoll babygirl babylon badboy badger badiman28200 baggins bailey baller bambam banana bananas bandit banshee barbara barbie
barcelon barcelona barney baseball basket basketba basketball batman battle baxter beagle beatles beauty beaver beavis beetle benjamin
benson bentley berlin bernard bernie bertha bhrh0h2oof6xbqjeh bianca bigboy bigdaddy bigdog bigfoot biggie bigguy bigmac bigman bigone
bigred billybob birdie birthday biscuit bishop biteme blabla blackcat blackdog blackie blackman blacksonblon blades blahblah blaster
blazer blessed blizzard blonde blondie blowme bltynbabrfwbz bluebird bluemoon bluesky bobafett bobbob bobcat boeing bollocks bomber
bondage bonehead bonnie booger boogie boomer boston bottom bowling boy4u2ownnyc bpgjldsgjldthnf bradley brandi brandon brandy brasil
braves brazil brenda brendan brianna britney brittany bronco broncos brooke brooklyn brooks brother brownie browns bruins brutus bubble
bubbles buckeye buckeyes buddha budlight buffalo bugger bulldog bulldogs bullet bullnuts2003 burger burton business businessbabe buster
butler byteme cactus cadillac caesar californ callie calvin camaro camera cameron camille campbell canada cancer cannon cantona capital
captain cardinal carlos carmen carolina caroline carrie carrot carter cartman caserta casier casino casper cassie castle catdog catfish
cavalier cdtnkfyf celtic cessna champion chance chandler change changeme charger chargers charles charlie charlott charly cheese
cheeseburger chelsea cherokee cherry cheryl chester chesterfield chevelle cheyenne chicago chichi chicken chickenwing101 chicks chiefs
chipper chisinau chocolat chopper chrissy christ christia christian christin christine christop christopher1 christy chronic chubby
civilization cjdthitycndj cjkysirj cjkywt claire classic claudia clayton clifford clinton clover cnfc35762209 cocacola coffee colleen
college collins colorado colors columbia combat123654 compaq computer concrete condor configuratio connect connie connor construction
consumer contortionist control cookie cookies cooldude coolio cooper copper corona corperfmonsy corvette cosmopolitan cosmos cotton cougar
counterstrike country courtney cowboy cowboys coyote cracker creative cricket crimson cristina crusader crystal cthutq curious curtis
dagger dakota dallas damian damien dancer danger daniel daniela danielle darkness darkside darkstar darren darwin daytona dbrnjhbz debbie
december deedee defender deftones delete denise dennis denver derrick design desire destiny detroit devildog devilmaycry4 devils dexter
dfvgbh diablo diamond diamonds diesel dietcoke digger digital digitalprodu dilbert dillon dingdong disney dkflbvbh dkflbvbhjdbx
dkflbvbhjdyf doctor dodger dodgers doggie dollar dolphin dolphins domainlock2005 dominic domino donald donkey doodle douglas dragon
dragons dreamer dreams driver drizzt drowssap drpepper drummer dublin ducati dudley duncan dustin eagles eclipse edward edwardcullen
einstein ekaterina elaine electric element elephant elizabet elizabeth emerald eminem empire energy engineer england english enigma
enterpri entertainment erotic escort eternity eugene evelyn everton exigen explorer express extreme falcon family fantasy farmer faster
fatboy fatcat father fatima753357 fender fernando ferrari ferret fetish ficken fighter finalfantasy findaupair007 finger fireball firebird
fireman fisher fishing fkmnthyfnbdf fktrcfylh fktrcfylhjdbx fktrcfylhjdf fktrcfylhjdyf fktrctq flatron flight flipper florence florida
flower flowers fluffy flvbybcnhfnjh flyers foobar football forest forever foreveryoung forget fossil foster foxtrot france francis frankie
franklin freaky freddie freddy frederiksberg fredfred freedom freeman freeuser french friday friend friends froggy frosty funtime fusion
future fyfcnfcbz fylhtq fynfyfyfhbde gabriel galaxy galina galore gambit gandalf gangster garcia garden garfield garrett gateway gators
geheim gemini general genesis genius george georgia gerald gerard german germany geronimo getsome gfhfktkjuhfv gfhjkm gfhjkmgfhjkm ghbdtn
ghbdtnbr ghbdtnghbdtn ghbdtnrfrltkf ghhh47hj7649 ghjatccbjyfk ghjcnjgbpltw ghjcnjgfhjkm ghjcnjghjcnj ghjcnjqgfhjkm ghjcnjrdfibyj
ghjnbdjcnjzybt ghtdtlvtldtl giants gibson gilbert ginger giovanni gjkysqgbpltw global gloria goblin goblue goddess godzilla goforit
goldberg golden goldfish goldie golfer goober google gordon gotcha gothic gracie graham greenday greenlantern gregory grendel griffin
grizzly groovy gthtrfnbgjkt gtnhjpfdjlcr guardian guinness guitar gundam gunner hacker hamilton hamlet hammer hamster hannah hannibal
hansolo hardcore hardon harley harmony harold harris harrison harvey hawaii hawkeye hd764nw5d7e1vb1 hd764nw5d7e1vbv heather heaven hector
hedimaptfcor helena helpme hendrix hentai herbert hercules herman hershey hesoyam highland hiphop history hitman hjvfirf hobbes hobbit
hockey holden holiday holland hollywoo holmes hongkong hooters hornet horney horses hotdog hotrod hotstuff hottie houston howard hummer
hunter hunting huskers iampurehaha2 ibanez icecream iceman ilovemyfamily iloveu iloveyou immortal impala indian indiana indians indigo
infantry inferno infinity ingodwetrust insane inside installdevic installsqlst integra intelligence international internet intrepid
ipo54tj45uy856 ireland ironman isabel isabella isabelle iseedeadpeople island italia iverson iwantu jackie jackoff jackson jaguar jamaica
jamesbond007 janice january jasmin jasmine jasper jeffrey jennifer jeremy jericho jerome jersey jessica jessie jester joanna joanne joejoe
johnny johnson jonathan jordan joseph josephphone7 joshua julian jumper jungle junior jupiter justice justin justinbieber justme juventus
kaiser kansas karate karina kassir katana kathleen katrina kawasaki keeper kelsey kennedy kenneth kermit kimberly kingdom kingkong kirill
kissme kitten kittycat klaster knicks knight knights kodiak kolobok kramer kristen kristin kristina ktjynsq40147 lacrosse ladies ladybug
lakers lancer larisa lasvegas latino lauren lawrence leather leavemealone legend legion legolas lennon leonard leonardo leslie lestat
lester letmein lhbjkjubz2957704 liberty licker lickme lifehack lights lincoln lindsay lindsey liquid little liverpoo liverpool lizard
lobster logitech lolita lollipop lollol london lonewolf longhorn looking lorenzo lost4815162342 louise loulou love777321777 lovelove
lovely loveme loverboy lovers loveyou lucifer lvbnhbq lytdybrbdfvgbhf lytghjgtnhjdcr machine maddie maddog madison madman madmax madness
madonna maestro magazin maggie magnum maiden mailcreated5240 makaveli maksim malcolm malibu manager manchester maniac manson manuel manutd
maprchem56458 marathon marcel marcus margaret mariah marina marinamarina marine marines marino marion markus marlboro marley marlin
marshall martha martin martina martini marvin maryjane massimiliano master masters matrix matthew mature maurice maurolarastefy maverick
maxima maximus maxine maxmax maxwell megadeth melanie melissa member memphis mercedes merchant mercury merlin metallic metallica
mevefalkcakk mexico michael michaeljackson michel michele michigan mickey microsoft midnight miguel milano miller millie million milton
minecraft minecraft123 minnie mirage miranda mission mister mistress mobile moldova mollie monday mongoose monica monika monique monitor
monkey monroe monster montana montreal mookie moomoo morgan morganstanley morpheus morris morrison mortalkombat moscow mother motorola
mountain mozart msoracle32re msorcloledbr muffin mulder munchkin murphy murray muscle mushroom musicman mustang mylove nadine napoleon
naruto nascar nastya nastyanastya natali natalia natalie natasha nathan naughty necronomicon needforspeed nelson nemesis
nemvxyheqdd5oqxyxyzi neptune network networkingpe newlife newman newport newproject2004 newton newyork nfnmzyf nhbujyjvtnhbz nhecsyfujkjdt
nhfdvfnjkju123 nhfycajhvths nicholas nicola nicolas nicole nightcrawler nikita nimrod niners nintendo nipple nipples nirvana nissan
nolimit nondriversig nookie norman norton nothing november ntktdbpjh1994 nugget nylons nymets obiwan october office oksana olcrackmaster
oldman oliver olivia onelove online ontheoutside openup operator orange orlando outlaw overlord oxford pacific packard packers pakistan
paladin palmer pamela panama panasonic pandora pantera panther panthers panties panzer paradise paraklast1974 parker parola parolamea
pascal passion passw0rd password patches patricia patrick patriot patriots patton pavilion peaches peanut peanuts pearljam pebbles
peekaboo peewee pegasus pencil penelope penguin pentium people pepper perfect personal pervert pfqwtd27121988 phantom philadelphia philip
philips phillip philly phoenix photos picard pickle pickles pierre piglet pikachu pimpin pioneer pirate pirates pitbull planet plastic
platinum playboy player playstation2 playstation3 playtime please pleasure poison pokemon polaris police polina pontiac poohbear pookie
poopie poopoo popcorn popeye porsche porter portland portugal potato potter powder powers precious predator prelude presario preston
pretty prince princes princess private privet professional psycho ptybnxtvgbjy pumpkin punisher punkrock punksnotdead purple pussies
pyramid python q1w2e3r4t5y6 q1w2e3r4t5y6u7 q1w2e3r4t5y6u7i8 q1w2e3r4t5y6u7i8o9p0 qawsed qawsedrftgyh qaz123wsx456 qazqaz qazwsx
qazwsx123456 qazwsxed qazwsxedc qazwsxedc123 qazwsxedcrfv qazwsxedcrfvtgb qazwsxqazwsx qazxsw qazxswedc qazxswedc123 qazxswedcvfr qwaszx
qwaszxerdfcv qwe123qwe123 qweasd qweasdzxc qweasdzxc123 qweqwe qwerasdfzxcv qwertasdfgzxcvb qwerty qwerty123456 qwerty123456789
qwertyasdfgh qwertyu qwertyui qwertyuiop qwertyuiop10 qwertyuiop12 qwertyuiop123 qwertyuiop12345 qwertyytrewq qwertz rabbit racecar rachel
racing raider raiders rainbow raistlin rammstein random ranger rangers raptor rascal ravens raymond reaper rebecca reddog redhead redman
redneck redrum redskins redsox redwings reggie regina remember renegade residentevil review rfnthbyf1988 rfrfirf rhbcnbyf ricardo richard
richie ripper robbie robert roberto robinson rocker rocket rockstar rodney roland rolltide rommel ronald ronaldinho10 ronaldo ronnie
rooster roscoe rosebud roxanne rubber runner ruslan russell russia sabine sabrina safety sailing sailor saints sakura salmon samantha
sammie sampson samson samsung samuel samurai sandiego sandman sandra sanfrancisco santiago satisfaction saturn saun24865709 savage
savannah scandinavian scarface scarlett school schoolgirlie scooby scooter scorpio scorpion scotland scotty scruffy scully sdicmt7seytn
search seattle sebastia secret security seemnemaailm seinfeld seminole semperfi septembe serega serena serenity sergey sergio service
sesame shadow shaggy shalom shamrock shannon sharks sharon shasta shaved sheila shelby sherlock sherman sherry shirley shogun shooter
shorty shotgun showme showtime sidney siemens sierra silver silvia simone simple simpson simpsons singer single sister skater skeeter
skipper skippy skittles skyline skywalke slapshot slayer slipknot smiles smiley smitty smokey smooth snakes snapper snatch snickers sniper
snoopy snowball snowman soccer softball software sojdlg123aljg soldier solomon sonnenschein sonyericsson sooners sophia sophie sparky
spartak spartan special specialinsta speedy spencer spider spiderma spiderman spirit spitfire spooky sports spring sprite spunky spyder
squirrel squirt srinivas stacey stalker stallion standard stanley starcraft stardust stargate startrek starwars stealth steelers stefan
stella stephani stephen sterling steven stewart stickdaddy77 sticky stimpy stinger stingray stinky stinkyfinger stocking stones stormy
stranger stratocaster street strider strike stuart student stupid subaru sublime success summer sundance sunday sunrise sunset sunshine
superfly superman supernatural support surfer surfing suzanne suzuki svetlana swallow sweetie sweetpea sweets sweety swimming swinger
swordfis swordfish sydney sylvia system systemofadown tanker tanner target tarheel tarheels tarzan tattoo taurus taylor tazman teacher
techno tennis tequila teresa terminal tester testing testtest thailand thanks thecakeisalie thegame theman theone therock thomas thuglife
thunder ticketmaster tickle tiffany tigers tigger tillgate timber timothy tinker tintin titanic titans tomcat tomtom topgun tornado
toronto toshiba tottenha toyota tracey trains trance transam transformers travel travis trevor trfnthbyf trigger trinity tristan triumph
trixie trojan trombone trooper trouble trucker trucks trumpet trunks tucker turkey turner turtle tweety twilight twister ultimate
unbelievable unicorn united unreal valentin valentina valera valerie vampire vanessa vanhalen vanyarespekt vegeta velvet verbatim veronica
veronika vfhbyf vfhbyfvfhbyf vfrcbv vfrcbvvfrcbv vfvfvskfhfve vfvjxrf victor victoria victory viking vikings viktor vincent virgin
virginia vision vladimir vladimirovna volume voodoo voyager walker wallace walnut walter warcraft warhammer40k warlock warren warrior
warriors waterloo waters watson wazzkaprivet weasel websolutions websolutionssu webster webuivalidat weihnachtsbau weihnachtsbaum welcome
werewolf wesley western westham westside whatever whiskey whitney whosyourdaddy whynot wicked wildcat wildcats william williams willie
willow wilson windows winner winnie winston winter wisdom wizard wolfgang wolfman wolfpack wolverin wolverine wolves wombat wonder
wrangler wutang xavier xfiles yamaha yankee yankees ybrbnf yellow yfnfif yomama yvonne z1x2c3v4b5n6 z1x2c3v4b5n6m7 zachary zaq12wsxcde3
zaq1xsw2cde3 zaqwsx zaqwsxcderfv zcfvfzkexifz zeppelin zipper zombie zqjphsyf6ctifgu zxcasdqwe123 zxcvbn zxcvbn123456 zxcvbnm
zxcvbnm123456789 zxcvbnmmnbvcxz
`
    .trim()
    .split(/\s+/),
);

/** Letter case does not matter. */
export function isCommonPassword(password: string): boolean {
  const plain = password.normalize('NFKC').toLowerCase();
  const core = plain.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
  return words.has(plain) || words.has(core) || isRepeated(plain);
}

/** A sequence of up to eight characters, repeated: abcabcabcabc. */
function isRepeated(text: string): boolean {
  const characters = Array.from(text);
  const isPeriod = (length: number) => characters.every((character, at) => at < length || character === characters[at - length]);
  for (let length = 1; length <= Math.min(8, characters.length / 2); length += 1) if (isPeriod(length)) return true;
  return false;
}
