import type { Words } from './signs.ts';

export const pl: Words = {
  words: `i w z na do nie jest się to że co jak dlaczego kto gdzie kiedy który która które mi mnie mój moja moje mam
    dla po od za czy są ten ta tego tej te jaki jaka jakie ile o przez oraz lub być może proszę mogę jako tym aby żeby
    mu ją go jej jego tu już`,
  translate: `przetłumacz* tłumacz* jak_powiedzieć jak_się_mówi jak_jest_po`,
  say: `znaczy oznacza`,
  tongue: `polski* angielsk* niemieck* francusk* hiszpańsk* włosk* portugalsk* rosyjsk* ukraińsk* czesk* arabsk*
    chińsk* japońsk* koreańsk* turecki*`,
  summarize: `streść streszcz* podsum* najważniejsze_punkty główne_punkty w_skrócie skróć`,
  extract: `wypisz wyodrębn* wyciągnij wydobądź znajdź_wszystkie wymień_wszystkie wylistuj w_tabeli wyłuskaj
    podaj_wszystkie z_tekstu w_tekście z_poniższego`,
  classify: `sklasyfik* zaklasyfik* klasyfik* przyporządkuj przypisz wydźwięk* sentyment* spam* kategoryz*
    jaka_kategoria oceń_czy oznacz do_której_kategorii`,
  labels: `pozytywn* negatywn* neutraln* kategori* priorytet* tak_lub_nie tak_czy_nie pilne ton reklama emocj*
    skarga`,
  edit: `popraw przeredaguj przeformułuj przepisz zredaguj sparafrazuj korekt* bardziej_formaln* grzeczniej
    błędy_językowe ortograficzn* uprzejmiej styl stylistyczn*`,
  make: `stwórz utwórz zrób przygotuj wygeneruj zaprojektuj potrzebuję opracuj wymyśl`,
  write: `napisz napisać ułóż zredaguj_mi`,
  prose: `mail maila e_mail list listu wierszyk post wiadomość zaproszenie bajkę bajka tekst artykuł reklamac*
    ogłoszenie podziękowani*`,
  piece: `wiersz* slogan hasło przemówienie wypracowanie esej rozprawkę opowiadanie bajk* toast motywacyjny rymowank*
    opis_produktu życzenia`,
  fields: `imiona nazwiska daty numery adresy osoby miejsca kwoty ceny firmy telefon* datę miejsce cenę imię`,
  code: `wyrażeni*_regularn* wyrażenie_regularne kod_źródłowy kompil* debug* refaktor* algorytm* baz*_danych
    bazy_danych rekurenc* testy_jednostkowe komunikat_błędu programowani* zapytanie_sql repozytorium programist*
    stos_wywołań pętl*`,
  program: `funkcj* metod* klasę klasa klasy skrypt* kod kodu kodzie program pętl* tablic* zmienn* błąd błędem
    zapytani* serwer* plik* polecenie gałąź słownik* napis napisu string* liczb tabeli duplikat* api listę listy
    liście`,
  mend: `zaimplementuj przekonwertuj zoptymalizuj napraw posortować sortuj* sprawdza zwraca wywala nie_działa działa
    usuń usuwa`,
  maths: `pochodn* całk* równani* prawdopodobieństw* liczb*_pierwsz* liczba_pierwsza pierwiast* pole obwód promie*
    procent średni* suma sumę trójkąt* prostokąt* macierz* wielomian* twierdzeni* ułam* objętość koła kwadratu kąt
    granic* podzieln*`,
  solve: `oblicz policz wylicz rozwiąż udowodnij wykaż wyznacz uprość`,
  count: `ile ilu jak_długo jak_daleko`,
  amount: `razem łącznie zosta* każdy każda każdego podwójn* połow* razy kosztuje kosztują zł złotych euro litrów
    metrów minut godzin po_równo km między dzieli`,
  weigh: `porówn* zalety wady za_i_przeciw czy_lepiej zdecyduj doradź przeanalizuj analiz* strategi* zaplanuj
    krok_po_kroku przyczyn* opłaca rozważ co_wybrać wybrać konsekwencj* uzasadnij zagadk* łamigłówk* kłamie kłamc*
    najszybciej`,
  puzzle: `logiczn* kłamią prawdę obok na_lewo siedzi wynika lepiej czy_powin* ryzyk* wywniosk* wybierz_najlepsz*`,
  either: `czy lub albo`,
  logic: `dokładnie tylko_jeden musi jeśli jeżeli ani nigdy zawsze każdy co_najmniej wszyscy żaden niektórzy przed
    po_tym pierwszy ostatni między pomiędzy pośrodku ponieważ choć mimo prawda prawdę fałsz wyższy niższy starszy
    winny kto_siedzi kto_jest załóżmy`,
  judge: `czy_ta czy_ten czy_to czy_poniższ* oceń określ_czy`,
  self: `ja mi mam jestem mnie`,
  greet: `cześć hej witaj witam siema dzień_dobry dobry_wieczór dobranoc co_u_ciebie co_słychać jak_się_masz`,
  thanks: `dzięki dziękuję super świetnie wielkie_dzięki ekstra`,
  feel: `smutno samotn* nudzi nudzę dowcip żart czuję_się lubisz jesteś ulubion* opowiedz_mi pogadaj* zmęczon*
    mój_dzień`,
  fact: `co_to czym_jest kto kiedy gdzie dlaczego jaki jaka jakie wyjaśnij wytłumacz poleć różni* znaczenie porad*
    który która`,
  more: `to jeszcze dalej kontynuuj krócej dłużej ponownie inaczej zamiast tego prościej jeszcze_raz go ją nie tak`,
  also: `a i teraz też ale oraz`,
  act: `ustaw zarezerwuj dodaj przypomnij zadzwoń zamów wyślij odwołaj włącz wyłącz zapisz puść`,
  given: `poniższ* następując* ten_tekst tekst tekstu artykuł akapit* zdani* opini* tej_opinii recenzj* wiadomości
    ta_wiadomość wiadomość przepis umowa rozmowa faktura komentarz ogłoszeni* umowy faktury`,
  word_unit: `słowo słowa słów`,
  sentence_unit: `zdania zdaniach zdań punktach punkty`,
  paragraph_unit: `akapity akapitów akapitach`,
  page_unit: `strony stron`,
  one_word: `jednym_słowem jednym_słowie tak_lub_nie`,
  one_sentence: `jednym_zdaniu jednym_zdaniem jedno_zdanie`,
  one_paragraph: `jednym_akapicie`,
  brief: `krótko zwięźle`,
};

export const cs: Words = {
  words: `a v na do je se to že co jak proč kdo kde kdy který která které mi mě můj moje mám pro po od za jsou ten ta
    ty jaký jaká jaké kolik o přes nebo být může prosím mohu jako aby s z ve při této tento tohoto si ne mu ji jej
    jeho tu už dá`,
  translate: `přelož* překlad* jak_se_řekne`,
  say: `znamená`,
  tongue: `češtin* angličtin* anglicky němčin* německy francouzštin* francouzsky španělštin* španělsky italštin*
    polštin* ruštin* slovenštin*`,
  summarize: `shrn* souhrn* hlavní_body zkrať stručně_shrň`,
  extract: `vypiš extrahuj vytáhni najdi_všechn* vyjmenuj do_tabulky vyber_z_textu z_textu`,
  classify: `klasifik* zařaď roztřiď přiřaď sentiment spam kategoriz* určete_kategorii`,
  labels: `pozitivní negativní neutrální kategori* priorit* ano_nebo_ne`,
  edit: `přepiš oprav přeformuluj uprav zdvořileji formálněji gramatik* pravopis* vylepši stylistick* profesionálně*
    zněl`,
  make: `vytvoř udělej připrav vygeneruj navrhni potřebuju potřebuji vymysli`,
  write: `napiš napsat slož sepiš`,
  prose: `mail e_mail dopis básničku povídku příběh příspěvek zprávu pozvánku pohádku text článek`,
  piece: `báseň básničk* slogan projev esej povídk* pohádk* přípitek motivační přání`,
  fields: `jména data čísla adresy osoby místa částky ceny firmy telefon*`,
  code: `regulární_výraz* zdrojový_kód kompil* ladit algoritm* databáz* rekurz* jednotkové_testy chybové_hlášení
    programování sql_dotaz debug*`,
  program: `funkc* metod* tříd* skript* kód kódu program cykl* pole seznam* proměnn* chyb* dotaz* server* soubor*
    příkaz* řetězec řetězc* slovník*`,
  mend: `implementuj převeď optimalizuj seřaď kontroluje vrací padá nefunguje spočítá`,
  maths: `derivac* integrál* rovnic* pravděpodobnost* prvočísl* odmocnin* obsah obvod poloměr* průměr* procent součet
    trojúhelník* obdélník* matic* objem zlomek zlomk* kruh* koule`,
  solve: `vypočítej vypočti spočítej vyřeš dokaž urči zjednoduš vypočítejte`,
  count: `kolik jak_dlouho jak_daleko`,
  amount: `celkem zbyde zbývá každý každá dvakrát polovin* krát stojí korun eur litrů metrů minut hodin km třetin*`,
  weigh: `porovn* výhody nevýhody mám_raději zda_je_lepší je_lepší rozhodni poraď analyz* strategi* naplánuj
    krok_za_krokem příčin* vyplatí mám_si pro_a_proti zvaž hádank* hlavolam* lže lhář*`,
  puzzle: `logick* lžou pravdu vedle sedí`,
  either: `nebo`,
  logic: `přesně jen_jeden musí jestliže pokud ani nikdy vždy každý alespoň všichni žádný někteří před první poslední
    mezi protože ačkoli pravda pravdu vyšší nižší starší vinen kdo_je předpokládejme`,
  judge: `je_tato je_tento je_to urči_zda určete_zda je_následující`,
  self: `já mi mám jsem mě`,
  greet: `ahoj čau dobrý_den dobré_ráno dobrý_večer jak_se_máš jak_se_daří nazdar`,
  thanks: `díky děkuji děkuju skvělé super`,
  feel: `smutn* nudím nuda vtip cítím osaměl* máš_rád oblíben* popovíd*`,
  fact: `co_je kdo kdy kde proč jaký jaká jaké vysvětli doporuč* rozdíl význam který`,
  more: `to ještě dál pokračuj kratší delší znovu místo jinak jednodušeji ne ano`,
  also: `a teď také i ale`,
  act: `nastav rezervuj zarezervuj přidej připomeň zavolej objednej pošli zruš zapni vypni pusť`,
  given: `následující tento_text text textu článek odstavec recenz* níže větu recept smlouva zpráva věta rozhovor
    komentář tuto_zprávu`,
  word_unit: `slov slova`,
  sentence_unit: `věty větách vět bodech`,
  one_word: `jedním_slovem ano_nebo_ne`,
  one_sentence: `jednou_větou jedné_větě`,
  brief: `stručně krátce`,
};

export const ru: Words = {
  words: `и в на не что как это с по к за из от для о у я ты мне мой моя меня мы вы он она они кто где когда почему
    зачем какой какая какие какое сколько который которая или если есть был была можно нужно мной`,
  translate: `перевед* перевест* перевод как_будет_по как_сказать`,
  say: `значит означает сказать`,
  tongue: `русск* английск* немецк* французск* испанск* итальянск* польск* китайск* японск* корейск* арабск* турецк*
    украинск*`,
  summarize: `кратко* резюмируй* суммируй* обобщи подытожь главные_мысли основные_мысли ключевые основные_тезисы
    сократи выжимк* перескаж* вкратце подведи_итог* итоги_переписки`,
  extract: `извлек* выпиши выдели_все найди_все перечисли_все в_виде_таблицы вытащи составь_список_всех достань
    из_текста в_тексте составь_таблицу`,
  classify: `классифиц* определи_тональность тональност* категори* спам* отнеси к_какой_категории настроение_отзыва`,
  labels: `положительн* отрицательн* нейтральн* позитивн* негативн* категори* приоритет* да_или_нет срочн* жалоб*
    эмоци*`,
  edit: `перепиши исправь отредактируй перефразируй переформулируй улучши вежливее формальнее орфограф* грамматик*
    ошибки_в_тексте`,
  make: `создай сделай придумай сгенерируй разработай подготовь нужен нужна`,
  write: `напиши написать сочини составь`,
  prose: `письмо речь пост сообщение приглашение текст статью объявлени* резюме`,
  piece: `стих* эссе сочинение слоган тост* сказк* поздравлени* сопроводительное рассказ`,
  fields: `имена даты номера адреса людей мест* суммы цены компани* телефон* должности фамилии имя возраст город`,
  code: `регулярн* исходный_код компил* отлад* рефактор* алгоритм* баз*_данных базы_данных рекурси* юнит_тест*
    сообщение_об_ошибке программирован* sql_запрос репозитор* указател* бэкенд* фронтенд* докер* гит ветк* async await
    отличается_let let_от`,
  program: `функци* метод* класс* скрипт* код кода коде программ* цикл* массив* списк* список словар* переменн* ошибк*
    запрос* сервер* файл* команд* строк* бот* таблиц* связный`,
  mend: `реализуй конвертируй оптимизируй почини сортир* отсортир* проверяет возвращает падает не_работает
    переворачивает`,
  maths: `производн* интеграл* уравнени* вероятност* простое_число простые_числа прост*_числ корень корни площад*
    периметр* радиус* диаметр* процент* средн* сумма сумму треугольник* прямоугольник* матриц* многочлен* теорем*
    дроб* объём* предел чётн* нечётн* умножить разделить`,
  solve: `вычисли* посчитай рассчитай реши решить докажи найди_значение упрости найдите`,
  count: `сколько как_долго как_далеко`,
  amount: `всего осталось останется каждый каждого каждому вдвое половин* раз раза стоит стоят рублей литров метров
    минут часов км поровну`,
  weigh: `сравни* плюсы минусы за_и_против реши_что посоветуй проанализируй анализ* стратеги* спланируй по_шагам
    шаг_за_шагом причин* выгоднее выбрать последстви* обоснуй взвесь загадк* головоломк* лжёт лжец* кто_есть_кто
    аргумент* разбери ход_мыслей что_лучше`,
  puzzle: `логическ* врёт лгут правду рядом_с слева_от старше младше стоит_ли лучше вывод следует_ли риски выгоднее`,
  either: `или`,
  logic: `ровно только_один должен если то ни никогда всегда каждый хотя_бы все никто некоторые до после первый
    последний между потому хотя правда правду выше ниже старше младше виновен кто_из самый допустим`,
  judge: `это_спам является_ли определи оцени скажи_является`,
  self: `я мне меня мой`,
  greet: `привет здравствуй* добрый_день доброе_утро добрый_вечер как_дела спокойной_ночи пока`,
  thanks: `спасибо благодарю отлично супер круто`,
  feel: `грустно скучно одинок* анекдот шутк* пошути я_чувствую ты_любишь любим* поболтаем поговори устал* мой_день
    твой_день как_прошёл`,
  fact: `что_такое кто когда где почему какой какая какие какое объясни расскажи посоветуй порекомендуй разница
    чем_отличается зачем`,
  more: `это ещё дальше продолжай короче длиннее снова вместо другой его её проще исправь_это нет да`,
  also: `а и теперь тоже но`,
  act: `поставь забронируй добавь напомни позвони закажи отправь отмени включи выключи запиши`,
  given: `следующ* этот_текст этого_текста текст текста статью абзац* предложени* отзыв* сообщения нижеследующ*
    сообщение обращение письмо фраза рецепт договор переписка комментарий`,
  word_unit: `слов слова`,
  sentence_unit: `предложения предложениях предложений пунктах`,
  paragraph_unit: `абзаца абзацев абзацах`,
  one_word: `одним_словом да_или_нет`,
  one_sentence: `одним_предложением одном_предложении`,
  brief: `кратко коротко`,
};

export const uk: Words = {
  words: `і й в у на не що як це з по до за із від для о я ти мені мій моя мої мене ми ви він вона вони хто де коли
    чому навіщо який яка які яке скільки або якщо є був була можна треба та чи`,
  translate: `переклад* як_буде_по як_сказати`,
  say: `означає значить`,
  tongue: `українськ* англійськ* німецьк* французьк* іспанськ* італійськ* польськ* китайськ* японськ* російськ*`,
  summarize: `стисло підсумуй* узагальни коротк*_зміст короткий_зміст головні_думки основні_тези ключові скороти
    резюм* перекажи`,
  extract: `витягни вилучи випиши знайди_всі перелічи у_вигляді_таблиці виокрем* з_тексту`,
  classify: `класифік* визнач_тональність тональн* спам* віднеси до_якої_категорії`,
  labels: `позитивн* негативн* нейтральн* категорі* пріоритет* так_чи_ні`,
  edit: `перепиши виправ відредагуй перефразуй переформулюй покращ ввічливіше граматик* орфограф* офіційн*`,
  make: `створи зроби придумай згенеруй розроби підготуй потрібен потрібна`,
  write: `напиши написати склади`,
  prose: `лист листа пост повідомлення запрошення текст статтю`,
  piece: `вірш* есе твір слоган промов* казк* привітанн* оповіданн* вітанн*`,
  fields: `імена дати номери адреси людей місця суми ціни компанії телефон* прізвища`,
  code: `регулярн* компіл* алгоритм* баз*_даних бази_даних рекурс* програмуванн* sql_запит налагод* репозитор*`,
  program: `функці* метод* клас* скрипт* код коду програм* цикл* масив* списк* список словник* змінн* помилк* запит*
    сервер* файл* команд* рядк*`,
  mend: `реалізуй конвертуй оптимізуй полагодь відсортуй сортує перевіряє повертає падає не_працює рахує`,
  maths: `похідн* інтеграл* рівнянн* ймовірн* просте_число корінь площ* периметр* радіус* діаметр* відсот* середн*
    сума суму трикутник* прямокутник* матриц* теорем* дріб* об_єм`,
  solve: `обчисли порахуй розрахуй розв_яж* доведи знайди_значення спрости`,
  count: `скільки як_довго як_далеко`,
  amount: `всього залишилось залишиться кожен кожного вдвічі половин* разів коштує коштують гривень літрів метрів
    хвилин годин км порівну`,
  weigh: `порівняй* плюси мінуси за_і_проти порадь проаналізуй стратегі* сплануй крок_за_кроком причин* вигідніше
    обрати переваг* недолік* загадк* головоломк* бреше хто_є_хто`,
  puzzle: `логічн* брешуть правду чи_варто краще`,
  either: `чи або`,
  logic: `рівно лише_один мусить якщо то ні ніколи завжди кожен принаймні всі ніхто деякі перед після перший останній
    між тому хоча правда правду вище вищий нижче нижчий старший хто_з найвищий найнижчий припустимо`,
  judge: `чи_є це_спам визнач оціни`,
  self: `я мені мене мій`,
  greet: `привіт вітаю доброго_дня добрий_день доброго_ранку добрий_вечір як_справи добраніч`,
  thanks: `дякую спасибі чудово супер`,
  feel: `сумно нудно самотн* жарт анекдот я_відчуваю улюблен* поговори втомил*`,
  fact: `що_таке хто коли де чому який яка які яке поясни розкажи порадь порекомендуй різниця чим_відрізняється`,
  more: `це ще далі продовжуй коротше довше знову замість інший його простіше ні так`,
  also: `а і тепер теж але`,
  act: `постав забронюй додай нагадай подзвони замов надішли скасуй увімкни ввімкни вимкни запиши`,
  given: `наступн* цей_текст цього_тексту текст тексту статтю абзац* реченн* відгук* повідомлення лист рецепт договір
    переписка коментар звернення`,
  word_unit: `слів слова`,
  sentence_unit: `речення реченнях речень`,
  one_word: `одним_словом так_чи_ні`,
  one_sentence: `одним_реченням одному_реченні`,
  brief: `коротко стисло`,
};
