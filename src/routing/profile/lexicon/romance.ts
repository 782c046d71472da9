import type { Words } from './signs.ts';

export const fr: Words = {
  words: `le la les un une des du de et est pas je tu il elle nous vous mon ma mes moi ce cette ces qui que quoi quel
    quelle comment pourquoi où quand combien avec pour dans sur en au aux à par plus ne se sa son sont ont avoir être
    faire peux peut fait cet l d j qu c s il_te s_il_vous`,
  translate: `mets_ce mets_cette tradui* comment_dit_on comment_on_dit comment_dire`,
  say: `dit signifie veut_dire dire`,
  tongue: `français* anglais* allemand* espagnol* italien* portugais* néerlandais polonais* turc russe arabe chinois
    japonais coréen suédois`,
  summarize: `résum* synthès* synthétis* points_clés points_essentiels idées_principales l_essentiel grandes_lignes
    en_bref que_dit`,
  extract: `extrai* relève relever repère liste_tous liste_toutes liste_les dresse_la_liste sous_forme_de_tableau
    récupère tous_les_noms identifie de_ce_texte dans_ce_texte du_texte trouve_tous trouve_toutes`,
  classify: `classe classer classifi* catégoris* sentiment spam étiquette quelle_catégorie attribue`,
  labels: `positif négatif neutre catégorie catégories priorité oui_ou_non urgent ton positive négative plainte
    émotion ironique sérieux vrai faux`,
  edit: `réécri* reformul* corrige corriger améliore améliorer relis relire orthographe plus_poli plus_formel
    plus_professionnel fautes`,
  make: `écris écrire écrivez crée créer génère* invente prépare propose besoin_d besoin_de développe`,
  write: `écri* rédige* compose`,
  prose: `mail e_mail courriel lettre histoire article message invitation texte essai nouvelle post annonce rédaction
    remerciement carte conclusion rapport paragraphe introduction`,
  piece: `poème* haïku slogan discours dissertation motivation accroche conte chanson légende faire_part carte_de_vœux
    accroches`,
  fields: `noms dates numéros adresses personnes lieux montants prix entreprises doses échéances téléphone
    participants liste`,
  code: `expression_régulière expressions_régulières code_source compil* débog* débugg* algorithme* base_de_données
    requête_sql récursi* tests_unitaires message_d_erreur programmation dépôt_git boucle_infinie boucle_while
    boucle_for boucle liste_chaînée`,
  program: `fonction fonctions méthode classe script code programme boucle tableau dictionnaire chaîne variable erreur
    requête serveur fichier fichiers commande branche bug liste entiers base api liste_chaînée`,
  mend: `implémente* convertis convertir optimise* répare vérifie trie plante marche_pas fonctionne_pas renvoie ajoute
    debug supprime`,
  maths: `dérivée intégrale équation* probabilité nombre_premier nombres_premiers racine aire périmètre rayon diamètre
    pour_cent pourcentage moyenne somme triangle rectangle matrice polynôme* théorème fraction* cercle volume
    de_combien_de_façons suite limite`,
  solve: `calcul* résou* démontre* prouve* détermine simplifie dérive trouve_la_valeur`,
  count: `combien quelle_distance quel_âge quel_pourcentage`,
  amount: `total reste restent chaque chacun par double moitié fois coûte coûtent prix euros litres mètres minutes
    heures km tiers s_échappent`,
  weigh: `compare comparer avantages inconvénients faut_il_mieux décide* choisir analyse* stratégie planifie
    étape_par_étape causes vaut_il_mieux vaut_mieux le_pour_et_le_contre arguments raisonne conséquences itinéraire
    devons_nous énigme devinette mentent menteur interrupteurs peut_on_conclure peut_on_en_conclure hypothèse
    quelle_hypothèse plus_probable`,
  puzzle: `logique ment vérité puzzle à_côté_de à_gauche assis plus_lourde nécessairement dois_je devrais_je tous_les
    conclure`,
  either: `ou`,
  logic: `exactement seulement_un doit si alors ni jamais toujours chaque au_moins au_plus tous aucun avant après
    premier dernier entre donc depuis_que parce_que vérité vrai faux plus_grand plus_petit plus_âgé coupable qui_est
    hypothèse supposons`,
  judge: `est_il est_elle est_ce_que_ce est_ce_une est_ce_un sont_ils indique_si dis_si détermine_si dis_moi_si juge`,
  self: `je j moi mon ma`,
  greet: `bonjour salut bonsoir coucou ça_va comment_vas_tu comment_allez_vous bonne_nuit au_revoir quoi_de_neuf`,
  thanks: `merci super génial parfait top`,
  feel: `je_me_sens triste m_ennuie blague seul seule tu_aimes es_tu préféré préférée raconte_moi ma_journée fatigué
    fatiguée tu_fais_quoi`,
  fact: `qu_est_ce_que qui quand où pourquoi quel quelle quels quelles explique expliquer différence recommande*
    conseille* définition conseils comment`,
  more: `ça encore continue plus_court plus_long autre même plutôt elle corrige_la corrige_le suite plus_simple refais
    non oui cela le_même`,
  also: `et maintenant aussi mais`,
  act: `mets mettez réserve* joue ajoute* rappelle* appelle commande envoie* annule* allume éteins préviens programme`,
  given: `suivant suivante ce_texte texte cet_article phrase cette_phrase paragraphe cet_avis ce_message ce_mail
    ci_dessous avis courriel document cette_recette recette contrat facture conversation compte_rendu commentaire
    ce_courriel message cette_facture`,
  word_unit: `mot mots`,
  sentence_unit: `phrase phrases lignes`,
  paragraph_unit: `paragraphe paragraphes`,
  page_unit: `page pages`,
  one_word: `un_mot seul_mot oui_ou_non`,
  one_sentence: `une_phrase`,
  one_paragraph: `un_paragraphe`,
  brief: `brièvement bref`,
};

export const es: Words = {
  words: `el la los las un una de del y es no que como por para con en mi me tu te se su yo al lo más este esta esto
    estos cuál quién cuándo dónde cuánto puedo puede puedes hay son tengo hacer sin pero si ser ha`,
  translate: `pásame_esto pasa_esto pon_esto traduc* traduzca* cómo_se_dice`,
  say: `dice significa decir`,
  tongue: `español* inglés francés alemán italiano portugués polaco turco ruso árabe chino japonés coreano holandés
    catalán`,
  summarize: `resum* puntos_clave puntos_principales ideas_principales sintetiza síntesis acta acorta en_una_frase`,
  extract: `extrae* extraiga saca lista_todos lista_todas enumera todos_los_nombres en_una_tabla identifica
    en_formato_json de_este_texto del_texto en_el_texto encuentra_todos busca_todos`,
  classify: `clasific* categoriz* sentimiento spam etiqueta qué_categoría asigna de_qué_tema qué_tema`,
  labels: `positivo negativo neutral neutro positiva negativa categoría categorías prioridad sí_o_no queja urgente
    tono legítimo phishing emoción`,
  edit: `reescrib* reformul* corrige corregir mejora mejorar revisa ortografía más_formal más_profesional más_amable
    gramática suene`,
  make: `crea crear haz genera* inventa prepara necesito programa_una desarrolla`,
  write: `escrib* redact* compón`,
  prose: `correo carta historia mensaje invitación texto artículo post publicación presentación_formal anuncio
    felicitación`,
  piece: `poema* eslogan discurso ensayo brindis relato canción cuento descripción_del_producto haiku`,
  fields: `nombres fechas números direcciones personas lugares importes precios empresas teléfono* nombre fecha
    importe quién_compró cuánto`,
  code: `expresión_regular expresiones_regulares código_fuente compil* depur* algoritmo* base_de_datos recursi*
    pruebas_unitarias mensaje_de_error segmentación programación repositorio consulta_sql bucle_infinito bucle
    lista_enlazada`,
  program: `función funciones método clase script código programa bucle lista arreglo diccionario cadena variable
    error consulta servidor archivo archivos fichero comando rama array api valide`,
  mend: `implementa* convierte convertir optimiza* arregla valida* ordena ordenar falla funciona devuelva elimina`,
  maths: `derivada integral ecuación ecuaciones probabilidad primo raíz área perímetro radio diámetro por_ciento
    porcentaje promedio suma triángulo rectángulo matriz polinomio teorema fracción volumen círculo media
    de_cuántas_formas de_cuántas_maneras límite`,
  solve: `calcul* resuelv* resolver demuestr* determina halla simplifica encuentra_el_valor deriva`,
  count: `cuánto cuánta cuántos cuántas qué_porcentaje`,
  amount: `total quedan queda sobran cada por doble mitad veces cuesta cuestan precio euros litros metros minutos
    horas km pesos`,
  weigh: `compara comparar ventajas desventajas inconvenientes decide conviene analiza estrategia planifica
    paso_a_paso causas pros_y_contras es_mejor mejor_opción elegir qué_pasaría razona consecuencias acertijo
    adivinanza miente mentiroso se_puede_concluir podemos_concluir cuál_elegirías qué_elegirías me_conviene`,
  puzzle: `se_puede_concluir todos_los lógica mienten verdad rompecabezas etiquetas_equivocadas al_lado_de
    a_la_izquierda sentado dedu* debería debo`,
  either: `o`,
  logic: `exactamente solo_uno debe si entonces ni nunca siempre cada al_menos todos ninguno algunos antes después
    primero último entre porque aunque verdad verdadera falsa más_alto más_bajo mayor_que culpable quién_es supongamos
    testigo`,
  judge: `es_este es_esta es_el es_la el_siguiente son_estos indica_si di_si determina_si dime_si`,
  self: `yo me mi estoy`,
  greet: `hola buenos_días buenas_tardes buenas_noches qué_tal cómo_estás cómo_va adiós`,
  thanks: `gracias genial perfecto estupendo`,
  feel: `me_siento triste aburrido aburrida chiste te_gusta eres favorito favorita cuéntame mi_día cansado cansada
    me_siento_sola`,
  fact: `qué_es quién cuándo dónde por_qué cuál explica* diferencia recomienda* significado consejos qué_son
    cómo_funciona qué`,
  more: `lo eso otra_vez continúa sigue más_corto más_largo hazlo otro misma mismo más_simple más_sencillo no sí
    ella`,
  also: `y ahora también pero`,
  act: `pon ponme reserva* añade agrega recuérda* llama pide envía* manda* cancela enciende apaga agenda avísa*`,
  given: `siguiente siguientes este_texto texto este_correo frase artículo párrafo este_mensaje esta_reseña reseña
    factura opinión comentario receta contrato conversación mensaje siguiente_correo este_producto esta_frase correo
    oferta`,
  word_unit: `palabra palabras`,
  sentence_unit: `frase frases oraciones líneas`,
  paragraph_unit: `párrafo párrafos`,
  page_unit: `página páginas`,
  one_word: `una_palabra sí_o_no`,
  one_sentence: `una_frase una_oración`,
  one_paragraph: `un_párrafo`,
  brief: `breve brevemente`,
};

export const pt: Words = {
  words: `o a os as um uma de do da dos das e não que como por para com em no na meu minha me você eu se seu sua ao
    mais este esta isso qual quem quando onde quanto posso pode são tenho fazer sem mas ser foi pelo pela deste
    desta`,
  translate: `tradu* como_se_diz`,
  say: `diz significa dizer`,
  tongue: `português inglês francês alemão espanhol italiano polonês russo árabe chinês japonês coreano`,
  summarize: `resum* pontos_principais ideias_principais sintetize síntese pontos_chave ata`,
  extract: `extrai* liste_todos liste_todas liste_os liste_as todos_os_nomes em_uma_tabela numa_tabela identifique
    retire deste_texto do_texto no_texto`,
  classify: `classifi* categoriz* sentimento spam rotule qual_categoria`,
  labels: `positivo negativo neutro positiva negativa categoria categorias prioridade sim_ou_não urgente reclamação
    tom elogio emoção`,
  edit: `reescrev* reformul* corrij* corrige corrigir melhore melhorar revise revisar ortografia mais_formal
    mais_profissional gramática`,
  make: `crie criar faça gere gerar invente prepare preciso desenvolva elabore monte`,
  write: `escrev* redija redigir componha`,
  prose: `e_mail email carta história mensagem convite texto artigo música post anúncio bilhete`,
  piece: `poema* slogan discurso redação ensaio crônica legenda conto haicai`,
  fields: `nomes datas números endereços pessoas lugares valores preços empresas telefone* nome data valor`,
  code: `expressão_regular expressões_regulares código_fonte compil* depur* algoritmo* banco_de_dados recursi*
    testes_unitários mensagem_de_erro programação endpoint repositório consulta_sql`,
  program: `função funções método classe script código programa laço lista vetor dicionário variável erro consulta
    servidor arquivo arquivos comando array string api duplicados`,
  mend: `implement* converta converter otimiz* conserte valid* ordene ordenar remover falha funciona retorna receba`,
  maths: `derivada integral equação equações probabilidade primo raiz área perímetro raio diâmetro por_cento
    porcentagem média soma triângulo retângulo matriz polinômio teorema fração volume círculo de_quantas_maneiras
    limite ímpares pares`,
  solve: `calcul* resolva resolver demonstre prove determine ache encontre_o_valor simplifique`,
  count: `quanto quanta quantos quantas qual_a_porcentagem`,
  amount: `total sobram sobrou restam cada por dobro metade vezes custa custam preço reais euros litros metros minutos
    horas km`,
  weigh: `compare comparar vantagens desvantagens decida analise estratégia planeje passo_a_passo causas
    prós_e_contras prós vale_a_pena melhor_opção é_melhor escolher o_que_aconteceria raciocin* enigma charada
    mentiroso podemos_concluir pode_se_concluir pondere levante_hipóteses hipóteses`,
  puzzle: `lógica mente mentem verdade quebra_cabeça ao_lado_de à_esquerda devo deveria todas_as todos_os`,
  either: `ou`,
  logic: `exatamente apenas_um deve se então nem nunca sempre cada pelo_menos todos nenhum alguns antes depois
    primeiro último entre porque embora verdade verdadeira falsa mais_alto mais_baixo culpado quem_é suponha`,
  judge: `é_este é_esta essa_mensagem esta_mensagem este_comentário diga_se indique_se determine_se avalie`,
  self: `eu me meu minha estou`,
  greet: `olá oi bom_dia boa_tarde boa_noite tudo_bem como_vai como_você_está tchau e_aí`,
  thanks: `obrigado obrigada valeu ótimo perfeito legal`,
  feel: `me_sinto sinto_me triste entediado entediada piada sozinho sozinha você_gosta favorito favorita meu_dia
    conte_me cansado cansada`,
  fact: `o_que_é quem quando onde por_que qual explique explica* diferença recomend* significado dicas quais
    como_funciona`,
  more: `isso de_novo continue mais_curto mais_longo outro mesmo refaça mais_simples não sim ele ela`,
  also: `e agora também mas`,
  act: `coloca põe reserva* toca adiciona lembra lembre liga pede envia* manda* cancela acende apaga agenda marca avisa`,
  given: `seguinte seguintes este_texto texto abaixo deste_texto frase desta_frase artigo parágrafo este_e_mail
    avaliação comentário receita contrato conversa mensagem este_comentário nota_fiscal e_mail`,
  word_unit: `palavra palavras`,
  sentence_unit: `frases linhas`,
  paragraph_unit: `parágrafos`,
  page_unit: `página páginas`,
  one_word: `uma_palavra sim_ou_não`,
  one_sentence: `uma_frase`,
  one_paragraph: `um_parágrafo`,
  brief: `breve brevemente`,
};

export const it: Words = {
  words: `il lo la i gli le un una uno di del della dei delle e non che come per con in mi mio mia tu io si ci da dal
    al alla nel nella più questo questa questi cosa perché chi quando dove quanto posso può sono ho ha fare senza ma
    se`,
  translate: `tradu* come_si_dice`,
  say: `dice significa`,
  tongue: `italiano inglese francese tedesco spagnolo portoghese polacco russo arabo cinese giapponese coreano
    olandese`,
  summarize: `riassu* sintesi sintetizza punti_chiave punti_principali verbale`,
  extract: `estrai* estrarre estrapola elenca_tutti elenca_tutte elenca tutti_i_nomi in_una_tabella individua
    dal_testo nel_testo da_questo_testo trova_tutti trova_tutte trova_gli`,
  classify: `classific* categorizz* sentiment sentimento spam etichetta quale_categoria assegna`,
  labels: `positivo negativo neutro positiva negativa neutra categoria categorie priorità sì_o_no urgente reclamo tono
    emozione rabbia gioia`,
  edit: `riscriv* riformul* corregg* migliora* revisiona rivedi ortografia più_formale più_professionale più_cortese
    grammatica`,
  make: `crea creare genera* inventa prepara serve bisogno sviluppa realizza`,
  write: `scriv* redigi componi`,
  prose: `email e_mail mail lettera racconto storia messaggio invito testo articolo post annuncio biglietto auguri`,
  piece: `poesia poesie slogan discorso saggio tema favola didascalia canzone biglietto_di_auguri`,
  fields: `nomi date numeri indirizzi persone luoghi importi prezzi aziende telefono data importo nome ingredienti
    quantità`,
  code: `espressione_regolare espressioni_regolari codice_sorgente compil* debug* algoritmo* base_di_dati ricorsi*
    test_unitari messaggio_di_errore programmazione query_sql repository`,
  program: `ciclo_for elemento funzione funzioni metodo classe script codice programma ciclo lista array dizionario
    stringa variabile errore query server file comando coda database api`,
  mend: `implement* converti convertire ottimizz* sistema valida ordina non_funziona restituisca restituisce gestire`,
  maths: `derivata integrale equazione equazioni probabilità numero_primo radice area perimetro raggio diametro
    per_cento percentuale media somma triangolo rettangolo matrice polinomio teorema frazione volume cerchio quanto_fa
    limite`,
  solve: `calcol* risolv* dimostr* determina semplifica trova_il_valore deriva`,
  count: `quanto quanta quanti quante che_percentuale`,
  amount: `totale restano rimangono ciascuno ogni doppio metà volte costa costano prezzo euro litri metri minuti ore
    km`,
  weigh: `confronta confrontare vantaggi svantaggi decidi conviene analizza strategia pianifica passo_passo cause
    pro_e_contro pro_e_i_contro è_meglio scegliere cosa_succederebbe pesa_di_più ragiona conseguenze indovinello
    enigma bugiardo rompicapo si_può_concludere possiamo_concludere`,
  puzzle: `logica mente mentono verità accanto_a a_sinistra dovrei devo`,
  either: `o`,
  logic: `esattamente solo_uno deve se allora né mai sempre ogni almeno tutti nessuno alcuni prima dopo primo ultimo
    tra perché benché verità vero falso più_alto più_basso colpevole chi_ha chi_è supponiamo allergico`,
  judge: `è_questa è_questo questa_email questa_frase questo_messaggio indica_se dimmi_se di_se stabilisci_se valuta`,
  self: `io mi mio sono`,
  greet: `ciao buongiorno buonasera buonanotte salve come_stai come_va arrivederci`,
  thanks: `grazie fantastico perfetto ottimo`,
  feel: `mi_sento triste annoio barzelletta solo sola ti_piace sei_un preferito preferita raccontami giornata stanco
    stanca sei_simpatico`,
  fact: `cos_è che_cos_è chi quando dove perché qual quale spiega* differenza consigli* significato quali
    come_funziona`,
  more: `lo ancora continua più_corto più_breve più_lungo altro stesso rifallo più_semplice no sì`,
  also: `e adesso ora anche ma`,
  act: `metti prenota* aggiungi ricordami chiama ordina invia* manda* annulla accendi spegni avvisa`,
  given: `seguente seguenti questo_testo testo articolo frase paragrafo questa_email recensione commento ricetta
    contratto fattura conversazione messaggio questa_frase email`,
  word_unit: `parola parole`,
  sentence_unit: `frasi righe`,
  paragraph_unit: `paragrafi`,
  page_unit: `pagina pagine`,
  one_word: `una_parola sì_o_no`,
  one_sentence: `una_frase`,
  one_paragraph: `un_paragrafo`,
  brief: `breve brevemente`,
};
