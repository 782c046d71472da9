/**
 * Words of work for experts, in lower case. Latin words end at `\b`; stems of other alphabets, where `\b` does not work, are
 * long enough without it. No word alone makes a request hard: `hard.ts` combines them.
 */
const words = (...lists: readonly string[]): RegExp => new RegExp(lists.join('|'));

/** Asks for a proof. */
export const PROVE = words(
  String.raw`\b(?:dis)?prove\b(?! me| to me| you| yourself)|\bshow that\b(?! you| i | we )|\b(?:give|write|find|sketch|outline|provide|complete)\b.{0,30}\bproof\b(?! of (?:concept|purchase|address|payment|work|stake))`,
  String.raw`\bbeweise?n?\b|\bzeigen? sie,? dass\b|\bzeige,? dass\b|\bwiderlege|\bbewijs\b`,
  String.raw`\bd[ée]montre[rz]?\b|\bprouve[rz]?\b|\bmontre[rz]? qu`,
  String.raw`\bdemu[eé]str[ae]|\bdemostrar\b|\bpru[eé]b[ae] que\b`,
  String.raw`\bdimostra(?:re|te)?\b|\bsi dimostri\b|\bprov[ae] que\b|\bprove que\b|\bdemonstr[ae]r?\b|\bmostre que\b`,
  String.raw`\budowodnij|\bwykaż|докажи|доказать|покажите, что|доведіть|证明|證明|証明|示せ|示しなさい|증명|\bkanıtla|\bispatla|برهن|أثبت`,
);

/** Proofs that schools teach. */
export const SCHOOL = words(
  String.raw`irra[tz]ion|pythagor|pitágoras|pitagor|\b(?:even|odd|gerade|ungerade|pair|impair|pari|dispari)\b.*\b(?:even|odd|gerade|ungerade[rn]?|paire?s?|impaire?s?|pari|dispari)\b`,
  String.raw`triang|dreieck|infinitely many primes|unendlich viele primzahlen|n ?\(n ?\+ ?1\)|1 ?\+ ?2 ?\+|quadratic formula`,
  '无理数|無理数|무리수|勾股|иррационал|пифагор',
);

/** Subjects of mathematics beyond school. */
export const ADVANCED_MATHS = words(
  'topolog|hausdorff|homeomorph|homöomorph|diffeomorph|homolog(?:y|ie)|cohomolog|homotop|manifold|mannigfaltigkeit|retraction|fundamental group',
  String.raw`\bgroups? (?:of (?:odd |even |prime )?order|is (?:cyclic|abelian|solvable|simple|normal)|action|homomorphism|theory)|subgroup|\b(?:finite|abelian|cyclic|normal|simple|solvable|nilpotent|quotient|free) (?:sub)?groups?\b|sylow|galois|noether|abelsch|abelian|ab[ée]lien`,
  String.raw`\bgruppe der ordnung|\bgroupe (?:fini|d.ordre|cyclique)|\bgrupo (?:de orden|finito|c[ií]clic|abelian)|\bgruppo (?:finito|abelian|ciclic)|gruppi ciclici|\banneau|\banillo|\banello|principal ideal|prime ideal|integral domain|\bring (?:is|of|r\b|with|homo)|commutative ring|field extension|splitting field|finite field`,
  String.raw`banach|hilbert|sobolev|lebesgue|borel|fr[ée]chet|\bnorm(?:ed|ierte[rn]?|é) |espaço vetorial|espacio vectorial|hahn|riemann|holomor|meromor|\bcompact(?:ness)? (?:\S+ )?(?:spaces?|sets?|subsets?|metric|hausdorff|operators?|manifolds?|groups?|self)|\bkompakte?[rnms]? (?:\S+ )?(?:raum|räume|menge|teilmenge|metri|operator)|(?:espace|métrique|espacio|métrico|spazio|metrico|espaço) (?:\S+ )?comp[at]|espace métrique|espacio métrico|spazio metrico|espaço métrico|metric space|metrischer raum|cauchy|equicontin|uniformly (?:conv|cont)|almost everywhere|almost surely|measurable|messbar`,
  'isomorph|isomorf|homomorph|automorph|endomorph|functor|funktor|sheaf|adjoint|eigen(?:value|vector|wert)|self-adjoint|spectral theorem|diagonali[sz]able|nilpotent|lie (?:group|algebra)|dedekind|p-adic|modular form|elliptic curve|zeta function|fermat|goldbach|ergodic|martingale|brownian|markov chain|stochastic',
  String.raw`np-(?:complete|hard|vollständig)|np-complet|pspace|undecidab|\bdecidable|halting problem|turing (?:machine|reduc)|recursively enumerable|gödel|incompleteness|context-free|regular language|pumping lemma|uncountabl|überabzählbar|\bdense in\b|(?:series|série|serie|reihe|sequence|folge|suite|sucesión|successione)\b.{0,60}(?:konv|conv|div)erg|(?:hardy|minkowski|hölder|jensen|sobolev|cauchy|young)\S* inequality|axiom of choice|zorn|cardinality of|\bzfc\b|large cardinal|ramsey|chromatic number|planar graph|hamiltonian|matroid|convex function|lipschitz|contraction mapping|ode\b|partial differential`,
  'компакт|хаусдорф|изоморф|гомоморф|топологи|многообрази|групп[аы]|кольц[оа]|банахов|гильбертов|измерим|сходит|равномерно|собственн(?:ых|ое) (?:знач|числ)',
  '紧致|緊緻|拓扑|拓撲|流形|同构|同胚|同态|有限群|单群|循环群|交换环|理想|勒贝格|希尔伯特|巴拿赫|可测|一致连续|一致收敛|特征值|度量空间|可数',
  'コンパクト|位相空間|多様体|同相|同型|準同型|有限群|巡回群|可換環|可測|一様収束|一様連続|固有値|ノルム空間|完備|ハウスドルフ|ヒルベルト|バナッハ',
  '콤팩트|위상|다양체|동형|순환군|유한군|가환환|가측|균등|고유값|완비|하우스도르프|힐베르트|바나흐|위수',
);

/** Signs of formal mathematics; several of them make a statement. */
export const FORMAL =
  /\\[a-z]{2,}|[∀∃∈≤≥∑∏∫√ℝℤℕℚ]|>=|<=|\^|\bfor (?:all|every|each|any)\b|\bif and only if\b|\bsuch that\b|\bpositive (?:reals?|integers?)\b|\bfür alle\b|\bpour tout|\bpara tod|\bper ogni\b|для (?:всех|любых)|任意|对所有|すべての|임의의|모든/g;

/** Asks for everything that satisfies a condition, as competitions do. */
export const COMPETITION = words(
  String.raw`\b(?:find|determine|characteri[sz]e) all (?:real |continuous |possible |monic |ordered )*(?:functions|polynomials|pairs|triples|quadruples|tuples|sequences|solutions in)`,
  String.raw`\bbestimmen? (?:sie )?alle (?:funktionen|polynome|paare|tripel)|\bfinden? (?:sie )?alle (?:funktionen|polynome|paare|tripel)`,
  String.raw`\b(?:trouver?|trouvez|déterminer?|déterminez) (?:tous|toutes) les (?:fonctions|polynômes|couples|triplets)`,
  String.raw`\b(?:halla|hallar|encuentra|encuentre|determina|determine|determinar) tod[oa]s l[oa]s (?:funciones|polinomios|pares|ternas)`,
  String.raw`\b(?:trovare|trova|determinare|determina) tutt[ei] (?:le |i )(?:funzioni|polinomi|coppie|terne)|\b(?:determine|encontre|ache) tod[oa]s [oa]s (?:funções|polinômios|pares|ternas)`,
  '(?:найдите|найти|определите) все (?:функции|многочлены|пары|тройки)|求所有.{0,12}(?:函数|多项式|数对|组)|(?:関数|多項式|組).{0,30}(?:すべて求め|全て求め)|(?:함수|다항식|순서쌍).{0,20}모두 (?:구|찾)',
  String.raw`\b(?:imo (?:\d{4}|problem|shortlist)|putnam \d{4}|usamo)\b`,
);
/** Open problems, and problems that took a century. */
export const OPEN_PROBLEM = words(
  String.raw`riemann(?:'s|’s|sche[nr]?)? (?:hypothes|vermutung)|(?:hypothèse|hipótesis|hipótese|ipotesi) de? ?riemann|goldbach|collatz|twin prime conjecture|primzahlzwilling|\bp ?(?:!=|≠|=|vs\.?|versus) ?np\b|hodge conjecture|birch and swinnerton|yang[- ]mills|\babc conjecture|beal(?:'s|’s)? conjecture|poincar[eé](?:'s|’s)? conjecture|fermat(?:'s|’s)? last theorem|four[- ]colou?r theorem`,
  'гипотез[уаы] (?:римана|гольдбаха|коллатца)|黎曼猜想|哥德巴赫猜想|リーマン予想|コラッツ|리만 가설',
);
/** Settles a problem. */
export const SETTLES = /\b(?:re)?solve\b|\bsettle\b/;
/** Requests under a system prompt about competitions. */
export const OF_CONTESTS =
  /\bolympiads?\b|\bcompetition (?:math|problem)|\bputnam\b|\bimo\b|olympiade|olimpiad|олимпиад|奥林匹克|奥数|オリンピック数学|数学オリンピック/i;
export const FINDS_ALL =
  /\b(?:find|determine|characteri[sz]e) all\b|\bbestimmen? (?:sie )?alle\b|\b(?:trouver?|déterminer?) tou[ts]|\b(?:halla|encuentra|determina) tod|найдите все|求所有|すべて求め/;
/** A condition in figures. */
export const QUANTIFIED = /[a-z]\([^)]{1,20}\)\s*[\^+\-*/=<>]|[\^=≤≥|]|<=|>=|divid|\\[a-z]|→|->|teil|整除|делит/;

/** A question about a thing, not a request to make it. */
export const SOLE_QUESTION = words(
  String.raw`^\s*(?:what(?:'s|’s| is| are| does| do| was)|who |when |which |is |are |does |explain (?:what|how|the)|tell me (?:about|what)|define |was (?:ist|sind|bedeutet)|wer |wie funktioniert|erklär|qu.est-ce|explique|qu[eé] (?:es|son|significa)|explica|cos.è|che cos|spiega|how (?:do|can|to|does|would)|should |o que (?:é|são)|что такое|объясни|什么是|解释)[^\n]{0,120}$`,
);

/** Asks for code, or for faster code. */
export const MAKES = words(
  String.raw`\b(?:re-?)?(?:implement|write|design|build|develop|code|create|construct|port|optimi[sz]e|vectori[sz]e|paralleli[sz]e|speed up|extend|add|make)(?:ing)?\b`,
  String.raw`\b(?:implementier|entwirf|entwickl|schreib|bau[e ]|erstell|programmier|optimier)`,
  String.raw`\b(?:implémente|conçoi|concevoir|développe|programme[rz]?\b|réalise|optimise)|écri[st]|\b(?:implementa|implemente|escrib[ea]|diseñ[ae]|desarroll[ae]|programa\b|scrivi|progetta|sviluppa|realizza|escreva|projete|desenvolva|crie|otimize)`,
  'реализу|напиши|спроектиру|разработай|написать|оптимизируй|实现|實現|编写|写一|设计|開発|开发|优化|用.{1,12}写|実装|設計し|書いて|作って|作成|최적화|구현|작성|설계|만들어',
);

/** Code that takes an expert to make. */
export const EXPERT_CODE = words(
  String.raw`\b(?:lock|wait)[- ]?free\b[^.\n]{0,50}\b(?:queue|stack|map|hash|list|buffer|allocator|algorithm|structure|cache|counter|pool|deque|set|tree|table|channel|log)|rewrite it lock[- ]free|lock-freie|hazard pointers?|memory (?:order|barrier|reclamation)|\bseqlock|compare[- ]and[- ](?:swap|exchange)|\baba[- ]problem|problème aba|sans verrou|sin bloqueos|\block-free\b.*(?:multi-produt|memory)|sem bloqueio|work[- ]stealing|linearizab`,
  String.raw`\bpaxos\b|byzantine|\bcrdts?\b|vector clock|two-phase commit|replicated (?:log|state)`,
  String.raw`type inference|typinferenz|inférence de types|inferencia de tipos|inferência de tipos|inferenza dei tipi|hindley|register allocat|\bssa form|closure conversion|escape analysis|type ?checker`,
  String.raw`x25519|ed25519|curve25519|bls12|elliptic curve|\baes-?(?:gcm|128|256|ctr)\b[^.\n]{0,50}(?:without|from scratch|constant)|zero[- ]knowledge|zk-?snark|homomorphic encryption|montgomery (?:ladder|mult)`,
  String.raw`cache[- ]oblivious|numerically stable|householder|finite element|finite[- ]volume|navier-stokes|runge[- ]kutta|conjugate gradient|sparse (?:cholesky|lu\b|solver)|multigrid|automatic differentiation`,
  'suffix (?:automat|array|tree)|link[- ]cut tree|heavy[- ]light|persistent segment tree|min[- ]cost flow',
  String.raw`неблокирующ|без блокировок|вывод\S* типов|порядк\S+ доступа к памяти|无锁|無鎖|内存序|类型推[导断]|ロックフリー|メモリ(?:順序|オーダー)|型推論|락프리|메모리 순서|타입 추론`,
);
/** Subjects that laymen also mention: they take more words, and code. */
export const DEEP_CODE = words(
  String.raw`\braft\b|\bzab\b|(?:distributed|verteilte\w*) (?:consensus|konsens)|algoritm\w+ (?:de|di) consens|exactly[- ]once (?:delivery|processing|semantics)|serializable isolation`,
  String.raw`\b(?:compiler|compilateur|compilador|compilatore|jit|decompiler|garbage collector|linker|hypervisor|query (?:planner|optimi[sz]er)|theorem prover|sat solver|smt solver)s?\b`,
  String.raw`constant[- ]time|side[- ]channel|\bsimd\b|\bavx|\bneon intrinsics|cuda kernel|\blsm\b|lsm[- ]tree|b\+?-tree|\bmvcc\b|write-ahead log|device driver|kernel module|max(?:imum)?[- ]flow`,
  'консенсус|компилятор|共识|编译器|恒定时间|合意(?:アルゴリズム|形成)|コンパイラ|합의 알고리즘|컴파일러',
);
/** Messages of compilers, things that are set up, and texts for people. */
export const ABOUT_CODE =
  /compiler (?:error|warning|flag|option|message|says|complain)|\b(?:blog|essay|article|poem|limerick|song|tweet|newsletter|jokes?|logo|icon|landing page|kids|docker|compose|helm|hello world|install|presentation|slides|cv|job ad|quiz|stor(?:y|ies))\b/;

/** Faults of concurrency. */
export const CONCURRENCY =
  /dead-?lock|live-?lock|race condition|data race|\brac[ey]\b|\bhangs?\b|\bstuck\b|\bthreads?\b|goroutine|intermittent|once in a|verklemm|wettlauf|blockier|interblocage|interbloqueo|condici[oó]n de carrera|condição de corrida|stallo|блокировк|гонк|зависает|死锁|竞态|数据竞争|卡住|デッドロック|競合|固まる|데드락|교착|경쟁 상태|멈/;
/** Those whose names alone tell of several threads. */
export const DEADLOCK =
  /dead-?lock|live-?lock|race condition|data race|verklemm|wettlaufsituation|interblocage|interbloqueo|condici[oó]n de carrera|condição de corrida|взаимн\S+ блокировк|состояни\S+ гонки|死锁|竞态|デッドロック|데드락|교착/;
/** What such a program is made of. */
export const CONCURRENT = /goroutine|mutex|semaphore|\bthreads?\b|\blocks?\b|\bchannels?\b|\bcoroutine|\basync\b/;
/** Code of several threads. */
export const LOCKS =
  /\bsync\.(?:RW)?Mutex|\bsync\.Cond|std::(?:mutex|atomic|thread)|pthread_|Arc<(?:Mutex|RwLock)|AtomicU|Ordering::|\bsynchronized\b|ReentrantLock|threading\.(?:R?Lock|Thread)|volatile |memory_order/;

/** Asks for a cause. */
export const FAILS =
  /\bwhy\b|\bbugs?\b|\bcauses?d?\b|root cause|\bleaks?\b|\bhangs?\b|\bcrash|\bfail|\bwrong\b|\bbroken\b|\bstall|dead-?lock|\brace|\bflaky\b|\bdebug\b|\bwarum\b|\bwieso\b|\bfehler|\bursache|\bpourquoi\b|\bpor ?qu[eé]|\berro|\bperch[eé]|\bcausa\b|почему|ошибк|причин|为什么|原因|出错|なぜ|バグ|왜|버그|원인/;

/** Bounds of a programming contest: a number of many thousands. */
export const LIMITS =
  /\b[a-z]\s?(?:≤|<=|\\leq?|<)\s?(?:\d\s?[·*×]\s?)?(?:10\s?\^\s?\{?(?:[4-9]|1\d)|\d{5,}|\de[5-9]|10[⁴⁵⁶⁷⁸⁹])/;

/** Moves code, and much of it. */
export const MOVES =
  /migrat|migrier|migra[rc]|\bport\b|rewrite|refactor|moderni[sz]|upgrade|re-?architect|split|umschreib|réécri|reescrib|riscriv|reescrev|переписать|перепиши|мигр|迁移|重构|移行|リファクタ|마이그레이션|리팩/;
export const CODE_BASE =
  /(?:whole|entire|complete|our|legacy|gesamte[nr]?|ganze[nr]?|toute? |tod[oa] |intero?a?|всю|весь|整个|全体|전체)[^.\n]{0,40}(?:code ?-?base|monolith|repo(?:sitory)?\b|codice|código|code\b|кодов|代码库|コードベース|코드베이스)|\bmonolith|\b(?:\d{3,}[\d,.]*k?|\d+k) (?:lines|files|components|services|modules|tables|zeilen|dateien|fichiers|archivos|file)\b|монолит|\d+ тысяч строк|单体应用|モノリス|모놀리/;

/** Clues of a puzzle about who, where and when. */
export const CLUES =
  /\bnext to\b|\bleft of\b|\bright of\b|\b(?:is|are|be|sits?|comes?|days?) (?:before|after)\b|\bnot (?:on|next|beside)\b|\blives?\b|\bsits?\b|\bexactly\b|\bneighbou?rs?\b|\bimmediately\b|\bbetween\b|\bowns?\b|\bowner\b|\bdrinks?\b|\bat one end\b|\bin the middle\b|\bneben\b|\blinks\b|\brechts\b|\bwohnt\b|\bsitzt\b|à côté|\bhabite\b|\bal lado\b|\bvive\b|\baccanto\b|\babita\b|\bao lado\b|\bmora\b|рядом|живёт|живет|слева|справа|旁边|左边|右边|住在|隣|左|右|옆|왼쪽|오른쪽/g;

/** Has a legal text drawn up. */
export const DRAFT =
  /\b(?:draft|draw up|write|prepare|redline)\b|\bentwirf|\bverfass|\bformulier|\bschreib|\berstell|\brédige|\bredact|\bredig[ie]|\bredija|\bscrivi|\belabor[ae]|составь|подготовь|起草|拟定|拟一份|作成|起案|ドラフト|작성|초안/;
export const CONTRACT = words(
  String.raw`\b(?:an?|the|mutual|this|our)(?: (?!for|to|about|on|of|with|in|that)[\w-]+){0,4} (?:agreement|contract|(?:indemnity|liability|termination|confidentiality|non-compete|arbitration|law) clause|lease|nda|terms of service|articles of association|power of attorney)\b(?! tests?| number| negotiat)`,
  String.raw`\beine?[nr]? (?:\S+ ){0,2}\S*(?:vertrag|vereinbarung|klausel|satzung)\b|\bune? (?:\S+ ){0,2}(?:clause|contrat|bail)\b|\buna? (?:\S+ ){0,2}(?:contrato|cláusula|convenio|contratto|clausola)\b|\buma? (?:\S+ ){0,2}(?:contrato|cláusula)\b`,
  'договор|соглашени|合同|协议书|契約書|契約条項|利用規約|계약서|약관',
);
/** Weighs or changes one. */
export const WEIGHS_CLAUSE =
  /\b(?:review|compare|redline|amend|analy[sz]e|negotiat|interpret|prüfe|vergleich|compare[rz]?|analyse[rz]?|compar[ae]|analiz[ae]|revis[ae]|confronta|rivedi|analise)|überarbeite|проанализируй|сравни|проверь|审查|比较|修改|分析|レビュー|比較|검토|비교/;
export const CLAUSE = words(
  String.raw`\b(?:this|these|following|contract|contractual|lease|liability|indemn\w+|nda|[a-z]+-compete) (?:\w+ )?clauses?\b|\bclauses? (?:of|from|in|below)\b|indemnif|limitation of liability|\bnda\b|non-disclosure agreement|licen[cs]e agreement`,
  String.raw`klausel|vertragstext|cette clause|clause du (?:bail|contrat)|clause suivante|cláusula|clausola|пункт\S* договора|услови[ея] договора|合同条款|契約条項|この条項|계약 조항`,
);
export const TRANSLATE =
  /\btranslat|übersetz|\btradui|\btraduc|\btraduz|\btradur|\bvertaal|przetłumacz|перевед|翻译|翻譯|翻訳|訳して|번역/;
/** Short texts by laymen, even about contracts. */
export const SMALL_PIECE =
  /\b(?:e-?mails?|mail|letter|note|reply|message|tweet|post|poem|blog|regex|function|sms|résilier|kündig\S*|grammar|speech|summary|zusammenfassung|smart contract|brief|courriel|correo|lettre|carta|lettera)\b|письмо|邮件|メール|이메일/;

export const POEM =
  /\bpoems?\b|\bpoetry\b|\bsonnets?\b|\bverses?\b|\bstanzas?\b|gedicht|sonett|strophe|\bpoème|\bvers\b|\bpoemas?\b|\bsoneto|\bpoesia|\bsonetto|стих|сонет|诗|詩|俳句|시를|이 시/;

export const CRITICAL =
  /critically\b|critical (?:review|reading|appraisal|analysis|assessment)|\bcritique\b|\breferee\b|peer[- ]review|methodolog|\bflaws?\b|fallac|kritisch|critiquer?\b|crítica|criticamente|критическ|批判|审稿|査読|비판/;
export const PAPER =
  /\bpaper\b|manuscript|preprint|\bstudy\b|\bargument|\bthesis\b|\babstract:|\bthis abstract|studie\b|aufsatz|étude|\barticle\b|\bestudio\b|\bartículo\b|\bartigo\b|\bstudio\b|\barticolo\b|статью|исследовани|论文|論文|논문/;

/** Words of failure in results of tools; phrases such as "0 errors" are removed first. */
export const ERRORS =
  /\berrors?\b|error\[|\bfail(?:ed|ure|ures|s|ing)?\b|traceback|exception|panic(?:ked)?\b|exit (?:code|status):? [1-9]|segmentation fault|assertion|\btimed? ?out\b/;
export const NO_ERRORS = /\b(?:0|no|without) (?:errors?|failed|failures?|failing)|(?:errors?|failed|failures?): ?0/g;
