import type { SignWords } from './signs.ts';

export const en: SignWords = {
  words: `a i the is are was were what how why who which where when this these those my your you me do does did can
    could should would please with from and not have has had of to it be if about their there will an we our so just
    every than then as at by for on in he she his her up out all some more get give any one no only always top`,
  translate: `render_this word_for translat* how_do_you_say how_do_i_say how_would_i_say english_version
    french_version german_version spanish_version what_does_it_say the_italian_for the_spanish_for into_plain`,
  say: `say said mean means`,
  tongue: `english german french spanish italian portuguese dutch polish turkish russian ukrainian czech arabic hindi
    chinese mandarin japanese korean vietnamese indonesian swedish greek latin hebrew danish norwegian finnish`,
  summarize: `summar* tldr tl_dr key_points main_points key_takeaways takeaways sum_up sum_this_up recap* condens*
    gist main_idea* main_argument boil_down boil_it_down short_version shorten_this bullet_summary meeting_minutes
    into_minutes minutes_of in_a_few_lines email_about text_about article_about boil_this_down takeaway takeaway_here
    main_message shorter_please the_gist bullet_the important_bits what_was_decided what_s_this_about in_two_sentences
    in_short shorten`,
  extract: `turn_these_notes who_attended what_are_the_deadlines to_csv into_a_csv into_csv extract* pull_out pull_all
    pull_every list_all list_every list_each find_all find_every fill_in fill_these parse_this parse_the collect_all
    identify_all as_a_json into_json as_a_table into_a_table in_a_table to_json are_mentioned into_fields key_value
    pick_out mentioned_in_the are_named_in in_this_text in_the_text from_the_text from_the_following in_this_paragraph
    as_a_list get_me_every get_every get_the fill_out json_array json_object what_are_the_names note_down action_items
    table_with_columns with_columns give_me_every columns out_of_this i_need_name tracking_number appear_here
    separate_list list_it one_per_line timeline all_the_names`,
  classify: `classif* categori* sentiment spam which_category what_category which_label assign_each assign_the
    label_each label_the label_this tag_each tag_the tag_this rate_the_priority which_department is_toxic phishing
    sort_these flag_each sort_these_* group_these pick_one which_budget which_genre genre_of belong_to belongs_to
    groups two_groups into_one_of the_intent hate_speech fact_or_opinion stars decide_for_each for_each_item sort_into
    include_or_exclude rank_each mark_each`,
  labels: `sarcastic positive_or_negative is_this_tweet is_this_review is_this_message is_this_email should_go_to
    decide_whether which_team spam_or fact_or_opinion positive negative neutral urgent category categories labels
    label yes_or_no true_or_false bug_report feature_request complaint intent low_medium not_spam or_not violate*
    answer_only good_or_bad bug_or describe_a_bug into_work personal_and sort_these happy annoyed angry opinion fake
    legit legitimate priority`,
  edit: `correct_the_text correct_this correct_spelling correct_all rewrit* rephras* reword* paraphras* proofread* polish_* correct_the_grammar fix_the_grammar grammar
    make_this_sound make_it_sound more_formal more_professional more_polite sound_more tone_down wording punctuation
    less_formal sound_less friendlier more_concise better_english improve_my typos make_the_following less_wordy
    clearer more_natural continue_this_story fix_my_english fix_my punch_up spice_up more_cordial correct_my improve
    sounds_less flow_better tidy_up clean_up nicer politer kinder more_courteous less_harsh spelling misspell*`,
  make: `create make generate craft prepare come_up_with i_need build develop design turn`,
  write: `write draft compose help_me_write word_this`,
  prose: `ideas email e_mail mail letter story stories post blog resume invitation message song dialogue headline*
    novel chapter scene advert ad article paragraph announcement description note card reply apology intro
    introduction review verse a_polite_way two_sentences`,
  piece: `poem poems haiku limerick sonnet essay essays slogan slogans tagline* tweet caption captions speech
    cover_letter lyrics press_release eulogy fairy_tale bedtime_story wedding_vows product_description rhyme ode
    obituary opening_line opening_scene short_story monologue newsletter hashtags name_ideas names_for bio a_toast
    wedding_toast headline headlines product_copy copy_for literary_style blurb anecdote greeting_card birthday_card
    well_card a_story story_about poem_about song_about catchy job_ad complaint_to note_to headline_and wedding_speech
    refusal`,
  fields: `names dates deadlines phone_number phone_numbers emails email_addresses addresses persons amounts prices
    companies invoice_number order_number due_date skills quantities ingredients locations entities keywords
    people_mentioned delivery_address ingredient quantity address number columns total salary location
    skills_mentioned job_title age participants people dosages buyer seller price last_employer`,
  code: `helm_upgrade helm_chart helm_install helm_release tolerate persistentvolume* mountvolume* statuscode pull_image ingress flex_container grid_template css_grid center_a_* centre_a_* text_to_sql jq
    crashloopbackoff imagepullbackoff errimagepull oomkilled failedscheduling kubelet configmap* statefulset*
    daemonset* readiness_probe liveness_probe div divs flexbox z_index media_query null_reference econnrefused
    garbage_collection permission_denied cors http_request status_code stack_overflow deploy_to compile_time
    type_error express_* node_app type_hint endpoint endpoints regex* regular_expression* stack_trace stacktrace
    traceback compiler compile compiles compilation debug* refactor* segfault segmentation_fault unit_test*
    api_endpoint rest_api codebase npm pip docker* kubernetes kubectl k8s git github gitlab pull_request
    merge_conflict rebase webpack vite django flask fastapi react_app react_component* react_hook* in_react
    react_native vue_js angular svelte next_js numpy pandas pytest jest async linked_list binary_search binary_tree
    hash_map hashmap recursion recursive algorithm* dataframe typeerror valueerror keyerror syntaxerror referenceerror
    nullpointerexception nginx terraform useeffect usestate localhost cron crontab makefile redis mongodb frontend
    backend middleware websocket* pseudocode runtime_error syntax_error null_pointer memory_leak race_condition
    deadlock time_complexity big_o cache_miss lru_cache source_code snippet codepen mutex semaphore env_variable*
    environment_variable* ssh systemd tailwind spring_boot rails laravel dependency_injection goroutine* linter eslint
    ci_pipeline github_actions one_liner foreign_key left_join inner_join primary_key for_loop while_loop type_hints
    dark_mode ffmpeg grep awk sed chmod curl parser cli oop not_defined cannot_read merge_sort quicksort bubble_sort
    loop loops http_status vim emacs array arrays database s3 boolean async_await red_black b_tree hash_table*
    implement_a_* sorting_algorithm phpunit composer commit commits committed squash optional_chaining borrow_checker
    postgres index_on url http https readme json_schema`,
  program: `pod pods node nodes taint footer navbar
    interface abstract undefined middleware formula excel spreadsheet request requests async function
    functions method methods class classes script scripts code program programming array arrays list lists string
    strings variable variables bug bugs error errors query queries database server app file files library module
    package pointer pointers thread stack queue cache config* deploy* test tests lint branch terminal shell command
    component integer integers dictionary dict tuple tuples input output endpoint api json xml csv html webpage
    website data_structure object objects null exception sorted cluster repo repository logs log_file error_log the_log log_level button plugin schema
    table column columns exit_code software container compiles iterator bash linux unix ubuntu port ports props
    re_render state_management client crash manifest binary thread_safe cpu process logging replace_all`,
  mend: `fix implement* convert* optimi* port crash* fails failing broken not_working throws undefined add review
    validate validates returns return parse parses sorts check checks reverse reverses count counts remove merge
    rename sort_a sort_the sort_by sort_list`,
  maths: `such_that all_functions functions_f function_f all_real real_x all_x positive_integers all_primes real_solutions all_polynomials all_pairs integers_n real_numbers
    derivative* integral* equation* probability theorem prime_number* a_prime primes sqrt square_root squared
    cubed matrix determinant eigen* polynomial* quadratic hypotenuse perimeter circumference radius diameter
    logarithm* percent percentage fraction* irrational arithmetic geometric average median standard_deviation
    divisible divisor* least_common remainder_when vector_space convergen* limit_of f_x how_many_ways combinations
    permutations algebra isomorphi* abelian subgroup coefficient* inequality parabola trapezoid rectangle variance
    expected_value fair_die a_die two_dice compound_interest numerator denominator modulo trigonometric cosine sine
    by_induction consecutive irreducible triangle bijection decimal two_numbers product_of log_base of_two_numbers
    whole_number divided_by multiplied sum_of_two polygon octagon hexagon diagonals convex vertices odds chance
    probab* continuous* compact linear finite group ring field convex* vector* function_f injective surjective
    bijective topolog* differentiable bounded prime power random* likely_is`,
  solve: `calculat* comput* solve solving prove proof evaluate simplify factor differentiate integrate determine
    work_out find_the show_that d_dx how_likely`,
  count: `how_many how_much how_far how_old how_fast what_percent* how_tall how_large how_heavy total_number
    total_cost`,
  amount: `total altogether left remain* each per twice half times thrice triple double combined in_all more_than
    less_than fewer cost costs spend spends spent earns earn pays paid dozen miles hours minutes dollars cents feet
    pounds kg km cm two three four five six seven eight nine ten doubled tripled quarter older younger speed gallons
    inches weighs square discount original_price percent grow interest share split revenue tax annual`,
  weigh: `enforceab* hold_up_under holds_under review_this_clause smarter what_are_my_options would_you_choose explain_your_reasoning reasoning decide_what help_me_decide
    better_idea which_would_you compare comparing weigh deciding pros_and_cons pros cons trade_off* tradeoff*
    advantages disadvantages makes_more_sense which_should strategy second_order root_cause could_be_the_cause
    step_by_step deduce prioriti* implications worth_it itinerary which_option better_choice best_option in_the_right
    liable most_likely_explanation evaluate_whether is_it_better think_through reason_through diagnos* which_offer
    plan_a plan_my plan_our plan_the riddle* puzzle* brain_teaser logic_puzzle tells_the_truth telling_the_truth
    tell_the_truth always_lies cross_the_river knave* at_fault both_sides might_explain what_might_explain hypothesis
    hypotheses best_choice can_we_conclude argue_both decide_between decide_which strongest_arguments arguments_for
    for_and_against do_i_have_a_case what_should_i_do what_would_you what_follows most_likely_responsible rule_out
    work_out_a ethical both_perspectives walk_me_through what_would_change suppose_all who_had_what who_had
    which_order weigh_the work_through on_what_grounds fallback`,
  puzzle: `both_false is_false are_false is_true all_cats are_both statement_is which_door which_box behind_one lies
    liar* lying knight knights who_owns logically next_to left_of right_of necessarily if_all seating_order
    follows_that can_we_conclude sits taller_than older_than guilty heavier lighter lightest who_sits who_is_the
    in_what_order finished_before switches hats clue clues houses in_a_row each_person different_kind cannot_be
    opposite should_i should_we should_my conclude risk risks risking scenario fault argue evaluate assess better
    worse explain_why ropes hates each_ordered different_drink weakens strengthens argues boat`,
  either: `or`,
  logic: `exactly only_one must must_not cannot if then unless neither nor every never always all_of some_of none
    at_least at_most both before after first last between follows infer imply therefore since because why_do_you_think
    tallest shortest oldest truth true false guilty innocent culprit assume suppose imagine consider which_one did_not
    same either_way`,
  judge: `is_this is_the is_it is_that are_these are_the does_this does_the do_these was_this has_this would_you_say
    decide_if decide_whether determine_if determine_whether tell_me_if check_if check_whether yes_no flag rate`,
  self: `i i_m im i_ve i_am`,
  greet: `hi hello hey good_morning good_evening good_night good_afternoon how_are_you what_s_up whats_up sup yo howdy
    how_s_it_going how_is_it_going nice_to_meet bye goodbye good_bye see_you hiya morning gm night_night how_r_u
    sleep_well`,
  thanks: `thanks thank_you thx ty cheers perfect awesome lol haha* great nice cool wow much_appreciated that_s_all
    that_was_everything got_it sounds_good no_worries will_do makes_sense understood`,
  feel: `let_s_play lets_play play_a_game let_s_chat let_s_talk do_you_ever rough_day stay_in_character in_character break_character act_as play_the_role tired_of_talking i_feel lonely bored joke pretend role_play roleplay my_day how_s_your
    do_you_like your_favo* on_your_mind i_m_so_* can_t_sleep miss_you miss_my feeling_sad feeling_down feeling_lonely
    had_such any_plans you_re_funny good_day bad_day someone_to_listen somebody_to_listen so_alone are_you_there
    my_birthday`,
  fact: `can_t_log_in can_t_log_into cannot_log_in can_t_sign_in cannot_sign_in unable_to_log unable_to_sign what_is what_s what_are who when where why how_does how_do how_to recommend* explain tell_me_about
    difference_between meaning_of definition tips best is_it which what_happened what_does`,
  more: `it that them this again continue shorter longer instead another same previous keep_going go_on more too
    simpler yes no ok okay still they its the_first the_second the_last`,
  also: `and now also but so then or what_about how_about`,
  act: `put_* turn set book play add remind text call ring order send cancel show_me tell dim reserve schedule start
    stop switch track look_up pause skip buy go_ahead`,
  given: `following below above text article passage document transcript conversation sentence sentences paragraph
    this_email this_review this_message this_comment the_review the_email this_mail these_tickets this_ticket
    headlines this_report this_feedback this_note this_text this_contract this_receipt receipts this_recipe recipe
    this_log the_log the_conversation this_post this_statement this_tweet this_song this_customer the_message
    this_paragraph transaction headline each_line these_animals the_author this_invoice notes thread call_transcript
    chat_log the_post`,
  away: `actually forget_the forget_that something_else never_mind nevermind different_question another_question off_topic unrelated by_the_way btw one_more_thing`,
  bind: `no_prose natural_language plain_english command_only from_short every_message each_message all_messages
    any_message every_ticket each_ticket everything_the whatever_the the_user_sends the_user_writes the_user_pastes
    the_user_provides the_user_gives the_user_describes user_message user_input every_incoming reply_with
    respond_with answer_with output_only only_output return_only only_return output_the output_a return_json in_json
    reply_only respond_only nothing_else no_explanation* no_comment* without_comment* with_the_label label_only
    number_only sql_only code_only only_sql translation_only exactly_one one_of_the_following with_one_word
    single_word into_one_of the_user_s_message the_user_s_text the_user_s_request the_user_s_sentence user_messages
    users_paste`,
  word_unit: `word words`,
  sentence_unit: `sentence sentences bullet_point* bullets bullet line lines`,
  paragraph_unit: `paragraph paragraphs`,
  page_unit: `page pages`,
  char_unit: `characters chars`,
  item_unit: `ideas examples names tips ways reasons titles options suggestions steps facts questions headlines slogans
    taglines items synonyms alternatives recommendations jokes quotes benefits keywords hashtags`,
  verse: `haiku haikus tagline slogan`,
  post: `tweet limerick caption`,
  one_word: `one_word single_word yes_or_no true_or_false one_token one_label single_label only_the_label just_the_label
    label_only label_name_only only_the_category just_the_category category_only single_letter one_letter only_the_letter
    just_the_number only_the_number number_only one_number`,
  one_sentence: `one_sentence single_sentence a_sentence one_line one_liner`,
  one_paragraph: `one_paragraph a_paragraph single_paragraph`,
  brief: `briefly short_answer brief concise* in_short`,
};

export const de: SignWords = {
  words: `der die das und ist nicht ein eine einen einem einer wie was warum wer wo wann ich du mir mich mein meine
    meinen meiner bitte mit für auf von zu den dem des im am kann soll sollte sind wird werden aus bei nach diesen
    diese dieser dieses hat habe auch oder welche welcher gibt wenn als es sie`,
  translate: `übersetz* wie_sagt_man`,
  say: `heißt* sagt bedeutet* sagen*`,
  tongue: `deutsch* englisch* französisch* spanisch* italienisch* portugiesisch* niederländisch* polnisch* türkisch*
    russisch* ukrainisch* tschechisch* arabisch* chinesisch* japanisch* koreanisch* schwedisch* latein*`,
  summarize: `zusammen* fass fasse* kurzfassung* kernaussage* kernpunkt* stichpunkte* wichtigst* worum_geht kurz_und`,
  extract: `extrahier* liste_alle lies_alle liste_die im_text_genannten* heraus* filtere_* ziehe_* alle_namen*
    alle_genannten* als_tabell* entnimm* zieh_* aus_dem_text im_text aus_dem_folgenden* aus_diesem* in_diesem_absatz*
    fülle_* als_liste* nur_die_namen* suche_alle schreib_alle`,
  classify: `klassifizier* kategori* ordne_* einordn* spam stimmung* welche_kategori* welcher_kategori* sentiment*
    einsortier* sortier*`,
  labels: `positiv* negativ* neutral* kategori* priorität* tonfall* ja_oder_nein dringend* gefühl* freud* wut trauer*
    beschwerd*`,
  edit: `formulier* umformulier* korrigier* verbesser* überarbeit* umschreib* rechtschreib* höflicher* freundlicher*
    formeller* professioneller* korrekturlesen* grammatik* kommafehler* schöner_formuliert* fließtext*`,
  make: `erstell* entwickl* erzeug* generier* brauch* programmier*`,
  write: `schreib* verfass* entwirf* dicht*`,
  prose: `mail e_mail email* brief* geschicht* beitrag* nachricht* einladung* text lied post artikel* newsletter*
    absag* entschuldigung* beschwerd* stichworten* kündigung* widerspruch* mahnung* vollmacht*`,
  piece: `gedicht* aufsatz* slogan* rede kurzgeschicht* bewerbung* anschreiben* motivationsschreiben* märchen*
    werbetext* trinkspruch* dankesbrief* geburtstagskart* glückwunsch* produktbeschreibung* grußkart* spruch* haiku*
    reim entschuldigung`,
  fields: `namen* daten* termin* telefonnummer* e_mail_adressen* adressen* personen* orte beträg* preis* firmen*
    rechnungsnummer* fristen* zutaten* datum* mengen*`,
  code: `zentriere_ich_ein_div
    rekursiv* befehl_* schleife*`,
  program: `klasse* funktion* skript* schleife* interfac* root code programm* liste* server* datei* ordner* befehl*
    array* branch*`,
  mend: `beheb* prüft* sortier* löscht* ausgibt* zusammenführ* umbenenn* schneller* schlägt_fehl`,
  maths: `alle_funktionen reelle*
    ableitung* integral* gleichung* wahrscheinlichkeit* primzahl* wurzel* matrix* polynom* umfang* radius*
    durchmesser* prozent* bruch* durchschnitt* summe* flächeninhalt* volumen* dreieck* rechteck* würfel* zinsen*
    nullstelle* quadrat* teilbar* beweis* kreises* kugel* mittelwert*`,
  solve: `berechne* rechn* löse lösen* bestimm* beweis* ermittl* ableiten* vereinfach*`,
  count: `wie_viel wie_viele* wieviel* wie_lange* wie_weit wie_alt wie_hoch`,
  amount: `insgesamt* übrig* pro jede jeder* jeweils* doppelt* halb hälft* mal koste* euro liter* meter* minuten*
    stunden* kilometer* gleichmäßig* drittel*`,
  weigh: `vergleich* abwäg* wäge vor_und_nachteil* vorteil* nachteil* entscheid* schritt_für_schritt* strategi* plane*
    sinnvoller* lohnt* welche_option* ursache* begründ* folgen* rätsel* logikrätsel* lügt lügner* denksport*
    folgt_daraus* welche_und_warum* streichen* beide_seiten*`,
  puzzle: `lügen* wahrheit* wer_wohnt* neben* links_von rechts_von schwerer* leichter* folgt_daraus* zwingend*
    soll_ich sollen_wir lieber* besser* wohnt_wo links_vom rechts_vom risik*`,
  either: `oder`,
  logic: `genau* nur_einer* muss darf_nicht* wenn dann weder* jeder* nie immer* mindestens* höchstens* beide* vor nach
    zuerst* zuletzt* zwischen* folgt* weil obwohl* wahrheit* wahr falsch* größer* kleiner* älter* jünger* täter*
    schuldig* wer_war wer_hat angenommen*`,
  judge: `ist_diese* ist_die ist_der ist_das sind_diese* handelt_es klingt_d* entscheide_ob bestimme_ob beurteil*
    bewert* enthält_d*`,
  self: `ich mir mich mein meine*`,
  greet: `hallo* guten_tag guten_morgen* guten_abend* gute_nacht* moin servus* wie_geht* tschüss* grüß_gott`,
  thanks: `danke* vielen_dank super* toll prima* klasse_danke* perfekt*`,
  feel: `rollenspiel* in_der_rolle du_spielst
    langweilig* einsam* traurig* witz ich_fühle* magst_du bist_du lieblings* erzähl_mir mein_tag freue*
    gestresst* miesen_tag scheißtag* schlechten_tag alles_klar allein`,
  fact: `was_ist was_sind wer wann wo warum* wieso* weshalb* wie_funktioniert* erklär* empfiehl* empfehl* unterschied*
    bedeutung* tipps* welch*`,
  more: `es das noch nochmal* weiter* kürzer* länger* stattdessen* mehr dasselb* das_gleich* einfacher* ja nein
    anders* ihn davon* dazu daraus* mach_*`,
  also: `und jetzt* nun auch aber`,
  act: `stell* buche* buch reservier* spiel* füge trag trage* setz setze* erinner* ruf bestell* schick* sende*
    stornier* schalt* mach schau*`,
  given: `folgend* text artikel* absatz* protokoll* bewertung* nachricht* diesen_satz dieser_rezension* rezension*
    beitrag* mail diesem_text satz diese_nachricht* schreiben* rezept* vertrag* rechnung* gespräch* kommentar* anfrag*
    stichworten*`,
  away: `eigentlich etwas_anderes was_anderes andere_frage vergiss übrigens`,
  bind: `jede_nachricht alle_nachrichten jede_anfrage jede_kundenanfrage jeden_text jede_eingabe alles_was
    des_nutzers der_nutzer des_benutzers antworte_nur antworte_mit gib_nur gib_ausschließlich nur_die nur_den
    nur_das ausschließlich keine_erklärung* ohne_kommentar ohne_erklärung nichts_anderes genau_einer einem_wort`,
  word_unit: `wort wörte*`,
  sentence_unit: `satz sätze* stichpunkt* zeilen*`,
  paragraph_unit: `absatz*`,
  page_unit: `seite*`,
  char_unit: `zeichen`,
  item_unit: `ideen beispiele* namen tipps gründe* titel vorschläge* schritte* fakten fragen`,
  one_word: `einem_wort ein_wort ja_oder_nein`,
  one_sentence: `einem_satz ein_satz`,
  one_paragraph: `einem_absatz*`,
  brief: `kurz knapp*`,
};

export const nl: SignWords = {
  words: `de het een en is niet van ik je jij mij mijn wat hoe waarom wie waar wanneer met voor op naar dat dit deze
    die zijn kan kun moet aan uit bij ook of om te ons onze welke heeft heb wordt als`,
  translate: `verta* hoe_zeg_je`,
  say: `zeg betekent* heet`,
  tongue: `nederlands* engels* duits* frans* spaans* italiaans* portugees* pools* turks* russisch* arabisch* chinees*
    japans* koreaans*`,
  summarize: `samenvatt* samengevat* vat kernpunten* belangrijkste_punten* hoofdpunten*`,
  extract: `haal_* extraheer* noem_alle zoek_alle alle_namen* in_een_tabel* geef_alle uit_deze_tekst* genoemd*
    worden_genoemd* welke_data welke_namen*`,
  classify: `classificeer* categoriseer* deel_* sentiment* spam welke_categori* labelen*`,
  labels: `positief* negatief* neutraal* categori* prioriteit* ja_of_nee toon klacht* emoti*`,
  edit: `herschrijf* verbeter* corrigeer* herformuleer* formeler* vriendelijker* beleefder* spelfouten* grammatic*`,
  make: `maak maken* stel_* bedenk* genereer* bouw ontwerp*`,
  write: `schrij* stel_een opstellen*`,
  prose: `mail e_mail email* brief* verhaal* bericht* uitnodiging* tekst* post blog kaartj*`,
  piece: `gedicht* slogan* toespraak* essay* opstel* motivatiebrief* sollicitatiebrief* verhaaltj* liedj* speech*
    sinterklaas*`,
  fields: `namen* datums* data telefoonnummer* adressen* personen* plaatsen* bedragen* prijzen* bedrijven*
    factuurnummer* productnamen*`,
  code: `reguliere_expressi* database* codebas*`,
  program: `functi* script* lijst* fout`,
  mend: `los_* controleert*`,
  maths: `afgeleid* integraal* vergelijking* kans waarschijnlijkheid* priemgetal* wortel* oppervlakt* omtrek* straal*
    diameter* procent* gemiddeld* som driehoek* inhoud* cirkel*`,
  solve: `bereken* reken* los_op bewijs* bepaal*`,
  count: `hoeveel* hoe_lang hoe_ver hoe_oud`,
  amount: `totaal* over per elk elke dubbel* helft* keer kost euro liter* meter* minuten* uur kilometer*`,
  weigh: `vergelijk* voor_en_nadelen* voordelen* nadelen* beslis* adviseer* afweg* strategi* plan kiezen* kies
    oorzaak* oorzaken* verstandiger* raadsel* liegt* leugenaar* weeg* argumenten conclusie`,
  puzzle: `logica* waarheid* puzzel* naast* links_van rechts_van moet_ik zal_ik`,
  either: `of`,
  logic: `precies* slechts* moet mag_niet als dan noch elke nooit* altijd* minstens* hoogstens* beide* voor na eerst*
    laatst* tussen* volgt* omdat* hoewel* waarheid* waar onwaar* groter* kleiner* ouder* jonger* wie_heeft* stel_dat`,
  judge: `is_deze is_dit is_de is_het zijn_deze klinkt* bepaal_of beoordeel*`,
  self: `ik mij mijn me`,
  greet: `hallo* hoi goedem* goedenavond* hoe_gaat dag doei`,
  thanks: `bedankt* dank_je dankjewel* dank_u top super*`,
  feel: `rollenspel*
    verveel* eenzaam* verdrietig* mop grap ik_voel favoriet* ben_jij`,
  fact: `wat_is wat_zijn wie wanneer* waar waarom* leg_uit uitleggen* verschil* betekenis* tips welke* hoe_werkt*
    aanraden*`,
  more: `het dat nog verder* korter* langer* meer opnieuw* ga_door anders* eenvoudiger* ja nee hem`,
  also: `en nu ook maar`,
  act: `zet boek reserveer* speel* voeg herinner* bel bestel* stuur* annuleer* doe schakel*`,
  given: `volgend* deze_tekst* tekst* artikel* aline* bericht* recensi* onderstaand* zin recept* contract* factuur*
    gesprek* mail`,
  away: `eigenlijk iets_anders andere_vraag trouwens`,
  bind: `elk_bericht alle_berichten elke_bericht alles_wat van_de_gebruiker de_gebruiker antwoord_alleen
    antwoord_met alleen_de alleen_het geen_uitleg zonder_uitleg niets_anders één_woord`,
  word_unit: `woord*`,
  sentence_unit: `zin zinnen* regels*`,
  paragraph_unit: `aline*`,
  char_unit: `tekens`,
  item_unit: `ideeën voorbeelden namen tips redenen titels suggesties stappen feiten vragen`,
  one_word: `één_woord* een_woord ja_of_nee`,
  one_sentence: `één_zin`,
  brief: `kort beknopt*`,
};
