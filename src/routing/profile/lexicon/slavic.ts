import type { SignWords } from './signs.ts';

export const pl: SignWords = {
  words: `i w z na do nie jest się to że co jak dlaczego kto gdzie kiedy który która które mi mnie mój moja moje mam
    dla po od za czy są ten ta tego tej te jaki jaka jakie ile o przez oraz lub być może proszę mogę jako tym aby żeby
    mu ją go jej jego tu już`,
  translate: `przetłumacz* tłumacz* jak_powiedzieć*`,
  say: `znacz* oznacz*`,
  tongue: `polski* angielsk* niemieck* francusk* hiszpańsk* włosk* portugalsk* rosyjsk* ukraińsk* czesk* arabsk*
    chińsk* japońsk* koreańsk* turecki*`,
  summarize: `streść* streszcz* podsum* najważniejsze_punkt* główne_punkt* w_skróci* skróć*`,
  extract: `wypisz* wyodrębn* wyciągnij* wydobądź* znajdź_wszystki* wymień_wszystki* wylistuj* w_tabel* wyłuskaj*
    podaj_wszystki* z_tekst* w_tekści* z_poniższeg*`,
  classify: `sklasyfik* zaklasyfik* klasyfik* przyporządkuj* przypisz* wydźwięk* sentyment* spam* kategoryz*
    jaka_kategori* oceń_czy oznacz* do_której_kolejki kolejk*`,
  labels: `pozytywn* negatywn* neutraln* kategori* priorytet* tak_lub_nie pilne* ton reklam* emocj* skarg*`,
  edit: `popraw* przeredaguj* przeformułuj* przepisz* zredaguj* sparafrazuj* korekt* bardziej_formaln* grzeczniej*
    błędy_językow* ortograficzn* uprzejmiej* styl stylistyczn*`,
  make: `stwórz* utwórz* zrób przygotuj* wygeneruj* zaprojektuj* potrzebuj* opracuj* wymyśl*`,
  write: `napis* ułóż zredaguj_mi`,
  prose: `mail maila* e_mail list listu* wierszyk* post wiadomość* zaproszeni* bajk* tekst* artykuł* reklamac*
    ogłoszeni* podziękowani*`,
  piece: `wiersz* slogan* hasło* przemówieni* wypracowani* esej rozprawk* opowiadani* bajk* toast* motywacyjn*
    rymowank* opis_produkt* życzeni*`,
  fields: `imion* nazwisk* daty numer* adres* osoby* miejsc* kwoty* ceny firmy* telefon* datę cenę imię`,
  code: `zapytanie_sql`,
  program: `funkcj* klas* skrypt* kod tablic* zmienn* błąd zapytani* słownik* napis* liczb* tabel* duplikat* list*`,
  mend: `napraw* posortować* sprawdz* zwrac* dział* usuwa* wyskakuj*`,
  maths: `wszystkie_funkcje takie_że
    pochodn* całk* równani* prawdopodobieństw* liczb*_pierwsz* liczba_pierwsz* pierwiast* pole obwód* promie*
    procent* średni* suma sumę trójkąt* prostokąt* macierz* wielomian* twierdzeni* ułam* objętość* koła kwadrat* kąt
    granic* podzieln*`,
  solve: `oblicz* policz* wylicz* rozwiąż* udowodnij* wykaż* wyznacz* uprość*`,
  count: `ile ilu jak_długo* jak_dalek*`,
  amount: `razem* łączni* zosta* każd* podwójn* połow* razy kosztuj* zł złotych* euro litrów* metrów* minut* godzin*
    po_równo* km międz* dziel*`,
  weigh: `porówn* zalet* wady za_i_przeciw* czy_lepiej* zdecyduj* doradź* przeanalizuj* analiz* strategi* zaplanuj*
    przyczyn* opłac* rozważ* co_wybrać* wybrać* konsekwencj* uzasadnij* zagadk* łamigłówk* kłam* najszybciej*`,
  puzzle: `logiczn* kłami* prawd* obok na_lewo siedz* wynik* lepiej* czy_powin* ryzyk* wywniosk* wybierz_najlepsz*`,
  either: `czy lub albo`,
  logic: `dokładni* tylko_jeden* musi jeśli* jeżel* ani nigdy* zawsz* każdy* co_najmniej* wszysc* żaden* niektórz*
    przed* po_tym pierwsz* ostatn* międz* pomiędz* pośrodk* ponieważ* choć mimo prawd* fałsz* wyższ* niższ* starsz*
    winny* kto_siedz* kto_jest załóżm*`,
  judge: `czy_ta czy_ten czy_to czy_poniższ* oceń określ_czy`,
  self: `ja mi mam jestem* mnie`,
  greet: `cześć* hej wita* siema* dzień_dobry* dobry_wieczór* dobranoc* co_u_ciebi* co_słychać* jak_się_masz`,
  thanks: `dzięk* super* świetni* wielkie_dzięk* ekstr*`,
  feel: `zabawmy_się odgrywamy
    smutn* samotn* nudz* dowcip* żart czuję_się lubisz* jesteś* ulubion* opowiedz_mi pogadaj* zmęczon* mój_dzień*`,
  fact: `co_to czym_jest kto kiedy* gdzie* dlaczeg* jaki jaka jakie* wyjaśnij* wytłumacz* poleć* różni* znaczeni*
    porad* któr*`,
  more: `to jeszcz* dalej* kontynuuj* krócej* dłużej* ponowni* inaczej* zamiast* tego prościej* go ją nie tak`,
  also: `a i teraz* też ale oraz`,
  act: `ustaw* zarezerwuj* dodaj* przypomnij* zadzwoń* zamów* wyślij* odwołaj* włącz* wyłącz* zapisz* puść`,
  given: `poniższ* następując* ten_tekst* tekst* artykuł* akapit* zdani* opini* tej_opini* recenzj* wiadomośc*
    ta_wiadomość* przepis* umow* rozmow* faktur* komentarz* ogłoszeni*`,
  away: `właściwie coś_innego inne_pytanie zapomnij przy_okazji`,
  bind: `każdą_wiadomość każde_zgłoszeni* wszystko_co użytkownika użytkownik odpowiadaj_tylko odpowiadaj_jednym
    odpowiadaj_wyłącznie zwróć_tylko wyłącznie bez_wyjaśnień bez_komentarz* jednym_słowem`,
  word_unit: `słow*`,
  sentence_unit: `zdani* zdań punkt*`,
  paragraph_unit: `akapit*`,
  page_unit: `stron*`,
  char_unit: `znaków`,
  item_unit: `pomysł* przykład* porad* powod* tytuł* kroków pytań`,
  one_word: `jednym_słowem* jednym_słowi* tak_lub_nie`,
  one_sentence: `jednym_zdani* jedno_zdani*`,
  one_paragraph: `jednym_akapici*`,
  brief: `krótk* zwięźl*`,
};

export const cs: SignWords = {
  words: `a v na do je se to že co jak proč kdo kde kdy který která které mi mě můj moje mám pro po od za jsou ten ta
    ty jaký jaká jaké kolik o přes nebo být může prosím mohu jako aby s z ve při této tento tohoto si ne mu ji jej
    jeho tu už dá`,
  translate: `přelož* překlad* jak_se_řekne*`,
  say: `znamen*`,
  tongue: `češtin* anglič* němčin* německ* francouzš* španělš* italštin* polštin* ruštin* slovenštin*`,
  summarize: `shrn* souhrn* hlavní_body zkrať* stručně_shrň`,
  extract: `vypiš* extrahuj* vytáhn* najdi_všechn* vyjmenuj* do_tabulk* z_textu*`,
  classify: `klasifik* zařaď* roztřiď* přiřaď* sentiment* spam kategoriz* určete_kategori* vyber_jed* urči* téma`,
  labels: `pozitivn* negativn* neutráln* kategori* priorit*`,
  edit: `přepiš* oprav* přeformuluj* uprav* zdvořilej* formálněj* gramatik* pravopis* vylepš* stylistick*
    profesionálně* zněl`,
  make: `vytvoř* udělej* připrav* vygeneruj* navrhn* potřebuj* vymysl*`,
  write: `napiš* napsat* slož sepiš*`,
  prose: `mail e_mail dopis* básničk* povídk* příběh* příspěvek* zpráv* pozvánk* pohádk* text článek*`,
  piece: `báseň* básničk* slogan* projev* esej povídk* pohádk* přípitek* motivačn* přání*`,
  fields: `jména* data čísla* adres* osoby* místa* částk* ceny firmy* telefon*`,

  program: `funkc* seznam* dotaz*`,
  mend: `spočít*`,
  maths: `derivac* integrál* rovnic* pravděpodobnost* prvočísl* odmocnin* obsah* obvod* poloměr* průměr* procent*
    součet* trojúhelník* obdélník* matic* objem* zlomek* zlomk* kruh* koule*`,
  solve: `vypočítej* vypočt* spočítej* vyřeš* dokaž* urči zjednoduš*`,
  count: `kolik* jak_dlouh* jak_dalek*`,
  amount: `celkem* zbyde* zbývá* každ* dvakrát* polovin* krát stojí* korun* eur litrů* metrů* minut* hodin* km třetin*`,
  weigh: `porovn* výhod* nevýhod* mám_raděj* je_lepší* rozhodn* poraď* analyz* strategi* naplánuj* příčin* vyplat*
    mám_si pro_a_proti* zvaž hádank* hlavolam* lže lhář* plán navrhni zdůvodn*`,
  puzzle: `logick* lžou pravd* vedle* sedí`,
  either: `nebo`,
  logic: `přesn* jen_jeden* musí jestliž* pokud* ani nikdy* vždy každý* alespoň* všichn* žádný* někteř* před první*
    posledn* mezi protož* ačkol* pravd* vyšší* nižší* starš* vinen* kdo_je předpokládejm*`,
  judge: `je_tato je_tento* je_to urči_zda určete_zda je_následujíc*`,
  self: `já mi mám jsem mě`,
  greet: `ahoj čau dobrý_den dobré_ráno dobrý_večer* jak_se_máš jak_se_daří nazdar*`,
  thanks: `díky děkuj* skvěl* super*`,
  feel: `smutn* nudím* nuda vtip cítím* osaměl* máš_rád oblíben* popovíd*`,
  fact: `co_je kdo kdy kde proč jaký jaká jaké vysvětl* doporuč* rozdíl* význam* který*`,
  more: `to ještě* dál pokračuj* kratš* delší* znovu* místo* jinak* jednodušej* ne ano`,
  also: `a teď také i ale`,
  act: `nastav* rezervuj* zarezervuj* přidej* připomeň* zavolej* objednej* pošli* zruš zapni* vypni* pusť`,
  given: `následujíc* tento_text text textu* článek* odstavec* recenz* níže větu recept* smlouv* zpráv* věta rozhovor*
    komentář* tuto_zpráv*`,
  away: `vlastně něco_jiného jiná_otázka zapomeň mimochodem`,
  bind: `každou_zprávu každý_text vše_co uživatele uživatel odpovídej_pouze odpověz_jen vrať_pouze bez_vysvětlení
    bez_komentář* jedním_slovem`,
  word_unit: `slov slova*`,
  sentence_unit: `věty větách* vět bodech*`,
  paragraph_unit: `odstavc*`,
  char_unit: `znaků`,
  item_unit: `nápad* příklad* tip* důvod*`,
  one_word: `jedním_slovem* ano_nebo_ne`,
  one_sentence: `jednou_větou* jedné_větě`,
  brief: `stručn* krátc*`,
};

export const ru: SignWords = {
  words: `и в на не что как это с по к за из от для о у я ты мне мой моя меня мы вы он она они кто где когда почему
    зачем какой какая какие какое сколько который которая или если есть был была можно нужно мной`,
  translate: `перев* как_будет_по как_сказат*`,
  say: `значит* означает* сказат*`,
  tongue: `русск* английск* немецк* французск* испанск* итальянск* польск* китайск* японск* корейск* арабск* турецк*
    украинск*`,
  summarize: `кратко* резюмируй* суммируй* обобщ* подытож* главные_мысли* основные_мысли* ключевы* основные_тезис*
    сократ* выжимк* перескаж* вкратц* подведи_итог* итоги_переписк* о_чём о_чем в_двух_трёх в_двух_предложени*`,
  extract: `извлек* выпиш* выдели_все найди_все перечисли_все вытащ* достан* из_текст* в_текст* составь_таблиц*
    из_этого`,
  classify: `классифиц* определи_тональност* тональност* категори* спам* отнес* к_какой_категори* настроение_отзыв*`,
  labels: `положительн* отрицательн* нейтральн* позитивн* негативн* категори* приоритет* срочн* жалоб* эмоци*`,
  edit: `перепиш* исправ* отредактиру* перефразиру* переформулиру* улучш* вежливе* формальне* орфограф* грамматик*`,
  make: `созда* сдела* придума* сгенериру* разработа* подготов* нужен* нужна*`,
  write: `напиш* написат* сочин* состав*`,
  prose: `письм* речь пост сообщени* приглашени* текст* стать* объявлени* резюм*`,
  piece: `стих* эссе сочинени* слоган* тост* сказк* поздравлени* сопроводительно* рассказ*`,
  fields: `имена* даты номер* адрес* людей* мест* суммы* цены компани* телефон* должност* фамили* имя возраст* город*
    дата трек`,
  code: `регулярн* указател* отличается_let let_от`,
  program: `функци* скрипт* код цикл* списк* список* словар* ошибк* файл* таблиц* связны*`,
  mend: `реализу* возвращает* падает* переворачивает*`,
  maths: `все_функции такие_что
    производн* интеграл* уравнени* вероятност* простое_число* простые_числа* прост*_числ корен* корни* площад*
    периметр* радиус* диаметр* процент* средн* сумм* треугольник* прямоугольник* матриц* многочлен* теорем* дроб*
    объём* предел* чётн* нечётн* умножит* разделит*`,
  solve: `вычисли* посчита* рассчита* реши решит* докаж* найди_значени* упрост* найдит*`,
  count: `скольк* как_долго* как_далек*`,
  amount: `всего* осталос* останетс* кажд* вдвое* половин* раз раза стоит* стоят* рубле* литров* метров* минут* часов*
    км поровн*`,
  weigh: `сравни* плюсы* минус* реши_что посовету* проанализиру* анализ* стратеги* спланиру* по_шагам* причин*
    выгодне* выбрат* последстви* обосну* взвес* загадк* головоломк* лжёт лжец* кто_есть_кто аргумент* разбер*
    ход_мысле* что_лучше*`,
  puzzle: `логическ* врёт лгут правд* рядом_с слева_от старш* младш* стоит_ли лучше* вывод* следует_ли риски* выгодне*`,
  either: `или`,
  logic: `ровно* только_один должен* если то ни никогд* всегд* кажды* хотя_бы все никто* некоторы* до после* первы*
    между* потом* хотя правд* выше ниже старш* младш* виновен* кто_из самый* допустим*`,
  judge: `это_спам является_ли определ* оцени* скажи_являетс*`,
  self: `я мне меня мой`,
  greet: `привет* здравствуй* добрый_день доброе_утро добрый_вечер* как_дела спокойной_ночи пока`,
  thanks: `спасиб* благодар* отличн* супер* круто*`,
  feel: `ролев*
    грустн* скучн* одинок* анекдот* шутк* пошут* я_чувству* ты_любиш* любим* поболтаем* поговор* устал* мой_день
    твой_день как_прошёл*`,
  fact: `что_такое* кто когда* где почем* како* какая* какие* объясн* расскаж* посовету* порекоменду* разниц*
    чем_отличаетс* зачем*`,
  more: `это ещё дальш* продолжа* короч* длинне* снова* вмест* друго* его её проще* исправь_это нет да`,
  also: `а и тепер* тоже но`,
  act: `постав* заброниру* добав* напомн* позвон* закаж* отправ* отмен* включ* выключ* запиш*`,
  given: `следующ* этот_текст* этого_текст* текст* стать* абзац* предложени* отзыв* сообщени* нижеследующ* обращени*
    письм* фраза* рецепт* договор* переписк* комментари*`,
  away: `вообще_то кое_что_другое забудь кстати другой_вопрос`,
  bind: `каждое_сообщени* каждый_отзыв все_сообщени* всё_что пользовател* отвечай_только ответь_одним только_ответ*
    верни_только ничего_не_объясня* без_пояснени* без_комментари* одним_словом`,
  word_unit: `слов слова*`,
  sentence_unit: `предложени* пунктах*`,
  paragraph_unit: `абзац*`,
  char_unit: `символов знаков`,
  item_unit: `идей пример* совет* причин* назван* вопрос*`,
  one_word: `одним_словом* да_или_нет`,
  one_sentence: `одним_предложением* одном_предложени*`,
  brief: `кратк* коротк*`,
};

export const uk: SignWords = {
  words: `і й в у на не що як це з по до за із від для о я ти мені мій моя мої мене ми ви він вона вони хто де коли
    чому навіщо який яка які яке скільки або якщо є був була можна треба та чи`,
  translate: `переклад* як_сказат*`,
  say: `означає* значит*`,
  tongue: `українськ* англійськ* німецьк* французьк* іспанськ* італійськ* польськ* китайськ* японськ* російськ*`,
  summarize: `стисл* підсумуй* узагальн* коротк*_зміст* короткий_зміст* головні_думки* основні_тези ключов* скорот*
    резюм* перекаж* коротко що_вирішили`,
  extract: `витягн* вилуч* випиш* знайди_всі переліч* у_вигляді_таблиц* виокрем* з_текст* з_цього`,
  classify: `класифік* визнач_тональніст* тональн* спам* віднес*`,
  labels: `позитивн* негативн* нейтральн* категорі* пріоритет*`,
  edit: `перепиш* виправ* відредагу* перефразу* переформулю* покращ* ввічливіш* граматик* орфограф* офіційн*`,
  make: `створ* зроби* придума* згенеру* розроб* підготу* потріб*`,
  write: `напиш* написат* склад*`,
  prose: `лист листа* пост повідомленн* запрошенн* текст* статт* опис_товар*`,
  piece: `вірш* есе твір слоган* промов* казк* привітанн* оповіданн* вітанн*`,
  fields: `імена* дати номер* адрес* людей* місця* суми ціни компані* телефон* прізвищ* дата година`,
  code: `sql_запит*`,
  program: `функці* програм* запит* файл* команд* рядк*`,
  mend: `реалізу* не_працює* рахує*`,
  maths: `похідн* інтеграл* рівнянн* ймовірн* просте_число* корін* площ* периметр* радіус* діаметр* відсот* середн*
    сума суму трикутник* прямокутник* матриц* теорем* дріб* об_єм`,
  solve: `обчисл* пораху* розраху* розв_яж* довед* знайди_значенн* спрост*`,
  count: `скільк* як_довго* як_далек*`,
  amount: `всьог* залиши* кожен* кожног* вдвіч* половин* разів* кошту* гривен* літрів* метрів* хвилин* годин* км
    порівн*`,
  weigh: `порівняй* плюси* мінус* порад* проаналізу* стратегі* сплану* крок_за_кроком* причин* вигідніш* обрат*
    переваг* недолік* загадк* головоломк* бреше*`,
  puzzle: `логічн* брешут* правд* чи_варто* краще*`,
  either: `чи або`,
  logic: `рівно* лише_один мусит* якщо то ні нікол* завжд* кожен* принаймн* всі ніхто* деякі* перед* після* перши*
    останні* між тому хоча правд* вище вищий* нижч* старши* хто_з найвищи* найнижчи* припустим*`,
  judge: `чи_є це_спам визнач* оціни*`,
  self: `я мені мене мій`,
  greet: `привіт* вітаю* доброго_дня добрий_день доброго_ранку* добрий_вечір* як_справ* добраніч*`,
  thanks: `дякую* спасиб* чудов* супер*`,
  feel: `сумно* нудно* самотн* жарт анекдот* я_відчува* улюблен* поговор* втомил*`,
  fact: `що_таке хто коли де чому який яка які яке поясн* розкаж* порад* порекоменду* різниц* чим_відрізняєтьс*`,
  more: `це ще далі продовжу* коротш* довше* знову* заміст* інший* його простіш* ні так`,
  also: `а і тепер* теж але`,
  act: `постав* заброню* додай* нагада* подзвон* замов* надішл* скасу* увімкн* ввімкн* вимкн* запиш*`,
  given: `наступн* цей_текст* цього_текст* текст* статт* абзац* реченн* відгук* повідомленн* лист рецепт* договір*
    переписк* коментар* зверненн*`,
  away: `взагалі_то щось_інше забудь до_речі інше_питання`,
  bind: `кожне_повідомленн* кожен_відгук усе_що користувач* відповідай_лише відповідай_тільки поверни_лише
    без_пояснен* одним_словом`,
  word_unit: `слів слова*`,
  sentence_unit: `речен*`,
  paragraph_unit: `абзац*`,
  char_unit: `символів знаків`,
  item_unit: `ідей приклад* порад* причин*`,
  one_word: `одним_словом* так_чи_ні`,
  one_sentence: `одним_реченням* одному_реченн*`,
  brief: `коротк* стисл*`,
};
