import type { SignWords } from './signs.ts';

export const fr: SignWords = {
  words: `le la les un une des du de et est pas je tu il elle nous vous mon ma mes moi ce cette ces qui que quoi quel
    quelle comment pourquoi où quand combien avec pour dans sur en au aux à par plus ne se sa son sont ont avoir être
    faire peux peut fait cet l d j qu c s il_te`,
  translate: `mets_ce mets_cette* tradui* comment_dit_on comment_dire`,
  say: `dit signifi* veut_dire dire`,
  tongue: `français* anglais* allemand* espagnol* italien* portugais* néerlandais* polonais* turc russe* arabe*
    chinois* japonais* coréen* suédois*`,
  summarize: `résum* synthè* points_clés points_essentiels* idées_principales* l_essentiel* grandes_lignes* en_bref
    que_dit`,
  extract: `extrai* relèv* repèr* liste_tous liste_toutes* liste_les récupèr* identifi* dans_ce_texte* du_texte*
    trouve_tous trouve_toutes*`,
  classify: `class* catégoris* sentiment* spam étiquett* quelle_catégori* attribu* rubrique* rang* étiquet*`,
  labels: `positi* négati* neutr* catégori* priorit* oui_ou_non urgent* ton plaint* émotion* ironiqu* sérieux* vrai
    faux`,
  edit: `réécri* reformul* corrig* amélior* reli* orthograph* plus_poli plus_formel* plus_professionnel* fautes*`,
  make: `écri* crée créer* génère* invent* prépar* propos* besoin_d besoin_de développ*`,
  write: `écri* rédige* compos*`,
  prose: `mail e_mail courriel* lettr* histoir* articl* messag* invitation* texte* essai* nouvell* post annonc*
    rédaction* remerciement* carte* conclusion* rapport* paragraph* introduction*`,
  piece: `poème* haïku* slogan* discours* dissertation* motivation* accroch* conte* chanson* légend* faire_part`,
  fields: `noms dates* numéros* adresses* personnes* lieux* montants* prix entreprises* doses* échéances* téléphon*
    participants* liste*`,
  code: `expression_régulièr* compil* requête_sql boucl* liste_chaîné*`,
  program: `fonction* class* script* code boucl* tablea* dictionnair* chaîn* erreur* requêt* command* branch* liste*
    entiers* base`,
  mend: `converti* vérifi* plant* marche_pas renvoi* supprim*`,
  maths: `toutes_les_fonctions telles_que tels_que
    dérivé* intégral* équation* probabilit* nombre_premier* nombres_premiers* racin* aire périmètr* rayon*
    diamètr* pour_cent pourcentag* moyenn* somme* triangl* rectangl* matric* polynôme* théorèm* fraction* cercl*
    volum* suite* limit*`,
  solve: `calcul* résou* démontre* prouve* détermin* simplifi* dériv*`,
  count: `combien* quelle_distanc* quel_âge quel_pourcentag*`,
  amount: `total* reste* chaqu* chacun* par doubl* moiti* fois coûte* prix euros* litres* mètres* minutes* heures* km
    tiers* s_échappent*`,
  weigh: `compar* avantages* inconvénients* faut_il_mieux* décide* choisir* analyse* stratégi* planifi* causes*
    vaut_mieux* le_pour_et_le_contr* arguments* raisonn* conséquences* itinérair* devons_nous énigm* devinett* mente*
    interrupteurs* hypothès* quelle_hypothès* plus_probabl*`,
  puzzle: `logiqu* ment vérit* puzzl* à_côté_de à_gauch* assis* plus_lourd* nécessairement* dois_je devrais_je
    tous_les conclur*`,
  either: `ou`,
  logic: `exactement* seulement_un doit si alors* ni jamais* toujours* chaqu* au_moins* au_plus tous aucun* avant*
    après* premier* dernier* entre* donc depuis_que parce_que vérit* vrai faux plus_grand* plus_petit* plus_âgé
    coupabl* qui_est hypothès* supposons*`,
  judge: `est_il est_elle sont_ils indique_si dis_si détermine_si juge`,
  self: `je j moi mon ma`,
  greet: `bonjour* salut* bonsoir* couco* ça_va comment_vas_tu comment_allez_vous bonne_nuit au_revoir* quoi_de_neuf`,
  thanks: `merci* super* génial* parfait* top`,
  feel: `personnage jeu_de_rôle jouons_un_rôle tu_joues
    trist* m_ennui* blagu* seul seule* tu_aimes* es_tu préfér* raconte_moi ma_journé* fatigu* tu_fais_quoi`,
  fact: `qui quand* où pourquo* quel* expliqu* différenc* recommande* conseil* définition* comment*`,
  more: `ça encor* continu* plus_court* plus_long autre* même plutôt* elle corrige_la corrige_le suite* plus_simpl*
    refais* non oui cela le_même`,
  also: `et maintenant* aussi* mais`,
  act: `mets mettez* réserve* joue ajoute* rappelle* appell* command* envoie* annule* allum* éteins* préviens*
    programm*`,
  given: `suivant* ce_texte* texte* cet_articl* phras* cette_phras* paragraph* cet_avis ce_messag* ce_mail ci_dessous*
    avis courriel* document* cette_recett* recett* contrat* factur* conversation* compte_rendu* commentair*
    ce_courriel* messag* cette_factur*`,
  away: `en_fait autre_chose oublie au_fait autre_question`,
  bind: `chaque_message chaque_avis tous_les_messages tout_ce_que l_utilisateur de_l_utilisateur réponds_par
    réponds_uniquement réponds_seulement répondez_uniquement uniquement sans_commentaire* sans_explication*
    rien_d_autre un_seul_mot réponds_en`,
  word_unit: `mot mots`,
  sentence_unit: `phras* lignes*`,
  paragraph_unit: `paragraph*`,
  page_unit: `page pages*`,
  char_unit: `caractères`,
  item_unit: `idées exemples noms conseils raisons titres suggestions étapes faits`,
  one_word: `un_mot seul_mot oui_ou_non`,
  one_sentence: `une_phras*`,
  one_paragraph: `un_paragraph*`,
  brief: `brièvement* bref`,
};

export const es: SignWords = {
  words: `dame dime el la los las un una de del y es no que como por para con en mi me tu te se su yo al lo más este esta esto
    estos cuál quién cuándo dónde cuánto puedo puede puedes hay son tengo hacer sin pero si ser ha`,
  translate: `pásame_esto pasa_esto pon_esto traduc* traduzca* cómo_se_dice`,
  say: `dice signific* decir*`,
  tongue: `español* inglés* francés* alemán* italian* portugués* polac* turco* ruso árabe* chino* japonés* corean*
    holandés* catalán*`,
  summarize: `resum* puntos_clave* puntos_principales* ideas_principales* sintetiz* síntesis* acta acort*`,
  extract: `extra* saca lista_todos* lista_todas* enumer* en_una_tabla* identific* de_este_texto* del_texto*
    encuentra_todos* busca_todos* sólo_las solo_las`,
  classify: `clasific* categoriz* sentimient* spam etiquet* qué_categorí* asign* de_qué_tema qué_tema marca_cada marca
    clasif*`,
  labels: `positiv* negativ* neutr* categorí* prioridad* queja* urgent* tono legítim* phishing* emoción*`,
  edit: `reescrib* reformul* corrig* corregir* mejor* revis* ortografí* más_formal* más_profesional* más_amabl*
    gramátic* suene*`,
  make: `crea crear* haz genera* invent* prepar* necesit* programa_una desarroll*`,
  write: `escrib* redact* compón*`,
  prose: `corre* carta* histori* mensaj* invitación* texto* artícul* post publicación* presentación_formal* anunci*
    felicitación*`,
  piece: `poema* eslogan* discurs* ensay* brindis* relat* canción* cuent* haiku*`,
  fields: `números* direcciones* personas* lugares* precios* empresas* teléfono* nombr* fecha* import* quién_compr*
    cuánt*`,
  code: `depur* segmentación* bucle*`,
  program: `función* métod* clase* script* códig* program* bucle* lista* arregl* error* consult* comand* api valid*`,
  mend: `optimiza* arregl* orden* funcion* devuelv* elimin*`,
  maths: `todas_las_funciones tales_que
    derivad* integral* ecuación* probabilidad* primo* raíz área perímetr* radio* diámetr* por_cient* porcentaj*
    promedi* suma triángul* rectángul* matriz* polinomi* teorem* fracción* volumen* círcul* media* límit*`,
  solve: `calcul* resuelv* resolver* demuestr* determin* halla* simplific* deriv*`,
  count: `cuánt* qué_porcentaj*`,
  amount: `total* queda* sobran* cada por doble* mitad* veces* cuest* preci* euros* litros* metros* minutos* horas* km
    pesos*`,
  weigh: `compar* ventajas* desventajas* inconvenientes* decid* convien* analiz* estrategi* planific* paso_a_paso
    causas* es_mejor* mejor_opción* elegir* qué_pasarí* razon* consecuencias* acertij* adivinanz* mient* mentiros*
    se_puede_concluir* podemos_concluir* cuál_elegirías* qué_elegirías* me_convien*`,
  puzzle: `se_puede_concluir* todos_los lógic* mienten* verdad* rompecabezas* etiquetas_equivocadas* sentad* dedu*
    deberí* debo`,
  either: `o`,
  logic: `exactament* solo_uno debe si entonces* ni nunca* siempr* cada al_menos* todos* ningun* algunos* antes*
    después* primer* últim* entre* porqu* aunqu* verdad* falsa* más_alto más_bajo mayor_que culpabl* quién_es
    supongamos* testig*`,
  judge: `es_este es_esta es_el es_la el_siguient* son_estos* indica_si di_si determina_si dime_si`,
  self: `yo me mi estoy*`,
  greet: `hola buenos_días buenas_tardes* buenas_noches* qué_tal cómo_estás* cómo_va adiós*`,
  thanks: `gracias* genial* perfect* estupend*`,
  feel: `personaje juego_de_rol juguemos_a
    me_sient* trist* aburrid* chist* te_gusta* eres favorit* cuéntam* mi_día cansad*`,
  fact: `qué_es quién* cuánd* dónde* por_qué cuál explica* diferenci* recomienda* significad* consejos* qué_son
    cómo_funcion* qué`,
  more: `lo eso otra_vez continú* sigue* más_corto* más_largo* hazlo* otro mism* más_simpl* más_sencill* no sí ella`,
  also: `y ahora* también* pero`,
  act: `pon ponme* reserva* añade* agreg* recuérda* llama* pide envía* manda* cancel* enciend* apaga* agend* avísa*`,
  given: `siguient* este_texto* texto* este_corre* frase* artícul* párraf* este_mensaj* esta_reseñ* reseñ* factur*
    opinión* comentari* recet* contrat* conversación* mensaj* este_product* esta_frase* corre* ofert*`,
  away: `en_realidad otra_cosa olvida por_cierto otra_pregunta`,
  bind: `cada_mensaje cada_reseña cada_texto todo_lo_que el_usuario del_usuario responde_solo responde_únicamente
    responde_con devuelve_solo devuelve_json únicamente sin_explicacion* sin_comentario* nada_más una_sola_palabra
    una_sola_categoría`,
  word_unit: `palabr*`,
  sentence_unit: `frase* oraciones* líneas*`,
  paragraph_unit: `párraf*`,
  page_unit: `págin*`,
  char_unit: `caracteres`,
  item_unit: `ideas ejemplos nombres consejos razones títulos sugerencias pasos datos preguntas`,
  one_word: `una_palabr* una_sola_palabra sí_o_no`,
  one_sentence: `una_frase* una_oración*`,
  one_paragraph: `un_párraf*`,
  brief: `breve*`,
};

export const pt: SignWords = {
  words: `o a os as um uma de do da dos das e não que como por para com em no na meu minha me você eu se seu sua ao
    mais este esta isso qual quem quando onde quanto posso pode são tenho fazer sem mas ser foi pelo pela deste
    desta`,
  translate: `tradu*`,
  say: `diz signific* dizer*`,
  tongue: `português* inglês* francês* alemã* espanhol* italian* polonês* russo* árabe* chinês* japonês* corean*`,
  summarize: `resum* pontos_principais* ideias_principais* sintetiz* síntes* pontos_chave* ata`,
  extract: `extrai* liste_todos* liste_todas* liste_os liste_as numa_tabel* identifiqu* retir* deste_texto* do_texto*
    no_texto*`,
  classify: `classifi* categoriz* sentiment* spam rotul* qual_categori* diz_só etiquet* marca_cada`,
  labels: `positiv* negativ* neutr* categori* prioridad* sim_ou_não urgent* reclamaçã* tom elogi* emoçã*`,
  edit: `reescrev* reformul* corri* melhor* revis* ortografi* mais_formal* mais_profissional* gramátic*`,
  make: `crie criar* faça gere gerar* invent* prepar* precis* desenvolv* elabor* monte*`,
  write: `escrev* redij* redigir* componh*`,
  prose: `e_mail email* carta* históri* mensagem* convit* texto* artig* músic* post anúnci* bilhet*`,
  piece: `poema* slogan* discurs* redaçã* ensai* crônic* legend* conto* haica*`,
  fields: `nomes* datas* números* endereços* pessoas* lugares* preços* empresas* telefone* nome data valor*`,
  code: `compil* endpoint*`,
  program: `funçã* class* script* códig* lista* consult* servidor* arquiv* array* api duplicados*`,
  mend: `valid* orden* remover* receb*`,
  maths: `todas_as_funções tais_que
    derivad* integral* equaçã* equações* probabilidad* primo* raiz área perímetr* raio diâmetr* por_cento*
    porcentagem* média* soma triângul* retângul* matriz* polinômi* teorem* fraçã* volum* círcul* limit* ímpares*
    pares*`,
  solve: `calcul* resolv* demonstr* prove* determin* ache simplifiqu*`,
  count: `quant*`,
  amount: `total* sobram* sobro* restam* cada por dobro* metad* vezes* custa* preço* reais* euros* litros* metros*
    minutos* horas* km`,
  weigh: `compar* vantagens* desvantagens* decid* analis* estratégi* planej* causas* prós_e_contras* prós vale_a_pena
    melhor_opção* é_melhor* escolher* raciocin* enigm* charad* mentiros* podemos_concluir* ponder* levante_hipóteses*
    hipóteses*`,
  puzzle: `lógic* mente* verdad* quebra_cabeç* à_esquerd* devo deveri* todas_as todos_os`,
  either: `ou`,
  logic: `exatament* apenas_um deve se então* nem nunca* sempr* cada pelo_menos* todos* nenhum* alguns* antes* depois*
    primeir* últim* entre* porqu* embor* verdad* falsa* mais_alto mais_baixo* culpad* quem_é suponh*`,
  judge: `é_este é_esta essa_mensagem* esta_mensagem* este_comentári* diga_se indique_se determine_se avali*`,
  self: `eu me meu minha* estou*`,
  greet: `olá oi bom_dia boa_tarde* boa_noite* tudo_bem como_vai como_você_está tchau* e_aí`,
  thanks: `obrigad* valeu* ótimo* perfeit* legal*`,
  feel: `faz_de_conta jogo_de_papéis
    me_sinto* sinto_me trist* entediad* piada* sozinh* você_gosta* favorit* meu_dia conte_me cansad*`,
  fact: `quem quand* onde por_que qual expli* diferenç* recomend* significad* dicas* quais* como_funcion*`,
  more: `isso de_novo continu* mais_curto* mais_longo* outro* mesmo* refaç* mais_simples* não sim ele ela`,
  also: `e agora* também* mas`,
  act: `coloc* põe reserva* toca adicion* lembr* liga pede envia* manda* cancel* acend* apaga* agend* marca* avisa*`,
  given: `seguint* este_texto* texto* abaix* deste_texto* frase* desta_frase* artig* parágraf* avaliaçã* comentári*
    receit* contrat* convers* mensagem* este_comentári* nota_fiscal* e_mail`,
  away: `na_verdade outra_coisa esquece aliás outra_pergunta`,
  bind: `cada_mensagem cada_texto tudo_o_que o_usuário do_usuário pelo_usuário do_utilizador responda_apenas
    responda_com retorne_apenas devolva_apenas apenas_com sem_explicaç* sem_comentário* nada_mais uma_palavra`,
  word_unit: `palavr*`,
  sentence_unit: `frases* linhas*`,
  paragraph_unit: `parágrafos*`,
  page_unit: `págin*`,
  char_unit: `caracteres`,
  item_unit: `ideias exemplos nomes dicas razões títulos sugestões passos fatos perguntas`,
  one_word: `uma_palavr* sim_ou_não`,
  one_sentence: `uma_frase*`,
  one_paragraph: `um_parágraf*`,
  brief: `breve*`,
};

export const it: SignWords = {
  words: `il lo la i gli le un una uno di del della dei delle e non che come per con in mi mio mia tu io si ci da dal
    al alla nel nella più questo questa questi cosa perché chi quando dove quanto posso può sono ho ha fare senza ma
    se`,
  translate: `tradu* come_si_dice in_italiano_grazie`,
  say: `dice signific*`,
  tongue: `italian* ingles* frances* tedesc* spagnol* portoghes* polacc* russo* arabo* cines* giappones* corean*
    olandes*`,
  summarize: `riassu* sintes* sintetizz* punti_chiav* punti_principal* verbal*`,
  extract: `estra* elenc* individu* dal_testo* nel_testo* trova_tutti* trova_tutte* trova_gli mi_servono_solo`,
  classify: `classific* categorizz* sentiment* spam etichett* quale_categori* assegn*`,
  labels: `positiv* negativ* neutr* categori* priorità* sì_o_no urgent* reclam* tono emozion* rabbi* gioia*`,
  edit: `riscriv* riformul* corregg* migliora* revision* rived* ortografi* più_formal* più_professional* più_cortes*
    grammatic*`,
  make: `crea crear* genera* invent* prepar* serve* bisogn* svilupp* realizz*`,
  write: `scriv* redig* compon*`,
  prose: `email* e_mail mail letter* raccont* stori* messaggi* invit* testo* articol* post annunci* bigliett* augur*`,
  piece: `poesi* slogan* discors* saggi* tema favol* didascali* canzon*`,
  fields: `nomi date numer* indirizz* person* luogh* import* prezz* aziend* telefon* data nome ingredient* quantità*`,
  code: `test_unitar*`,
  program: `element* funzion* class* ciclo* lista* array* string* error* file coda`,
  mend: `convert* gestir*`,
  maths: `tutte_le_funzioni tali_che
    derivat* integral* equazion* probabilità* numero_primo* radic* area perimetr* raggi* diametr* per_cento*
    percentual* media* somma* triangol* rettangol* matric* polinomi* teorem* frazion* volum* cerchi* quanto_fa
    limit*`,
  solve: `calcol* risolv* dimostr* determin* semplific* deriv*`,
  count: `quant* che_percentual*`,
  amount: `total* restan* rimangon* ciascun* ogni doppi* metà volte* costa* prezz* euro litri* metri* minut* ore km`,
  weigh: `confront* vantagg* svantagg* decid* convien* analizz* strategi* pianific* passo_passo* cause* pro_e_contr*
    è_megli* sceglier* cosa_succederebb* pesa_di_più ragion* conseguenz* indovinell* enigm* bugiard* rompicap*
    possiamo_concluder*`,
  puzzle: `logic* mente* menton* verità* accanto_a a_sinistr* dovre* devo`,
  either: `o`,
  logic: `esattament* solo_uno deve se allor* né mai sempr* ogni almen* tutti* nessun* alcun* prim* dopo ultim* tra
    perch* bench* verità* vero falso* più_alto più_basso* colpevol* chi_ha chi_è supponiam* allergic*`,
  judge: `è_quest* questa_email* questa_frase* questo_messaggi* indica_se dimmi_se di_se stabilisci_se valut*`,
  self: `io mi mio sono`,
  greet: `ciao buongiorn* buonaser* buonanott* salve* come_stai come_va arrivederc*`,
  thanks: `grazi* fantastic* perfett* ottim*`,
  feel: `gioco_di_ruolo facciamo_finta
    mi_sento* trist* annoi* barzellett* solo sola ti_piace* sei_un preferit* raccontam* giornat* stanc*
    sei_simpatic*`,
  fact: `cos_è chi quand* dove perch* qual* spiega* differenz* consigli* significat* come_funzion*`,
  more: `lo ancor* continu* più_corto* più_breve* più_lungo* altro* stess* rifall* più_semplic* no sì`,
  also: `e adess* ora anche* ma`,
  act: `metti* prenota* aggiung* ricordam* chiam* ordin* invia* manda* annull* accend* spegn* avvis*`,
  given: `seguent* questo_testo* testo* articol* frase* paragraf* questa_email* recension* comment* ricett* contratt*
    fattur* conversazion* messaggi* questa_frase* email*`,
  away: `in_realtà altra_cosa lascia_perdere a_proposito altra_domanda`,
  bind: `ogni_messaggio ogni_testo tutto_ciò tutto_quello dell_utente l_utente rispondi_solo rispondi_con
    restituisci_solo soltanto_con senza_spiegazion* senza_comment* senza_aggiungere nient_altro una_sola_parola`,
  word_unit: `parol*`,
  sentence_unit: `frasi* righe*`,
  paragraph_unit: `paragraf*`,
  page_unit: `pagin*`,
  char_unit: `caratteri`,
  item_unit: `idee esempi nomi consigli motivi titoli suggerimenti passaggi domande`,
  one_word: `una_parol* sì_o_no`,
  one_sentence: `una_frase*`,
  one_paragraph: `un_paragraf*`,
  brief: `breve*`,
};
