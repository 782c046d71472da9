/** Words of users, in any language, by the English words that function names have for them. */
export const TOPICS: Readonly<Record<string, string>> = {
  'weather forecast': `wetter météo temps_fait temps_fera fera_combien clima tiempo_hace llover lluvia tempo_fa tempo_farà
    previsão_do_tempo chover pioverà pogod* padać hava* weer regen погод* дощ дождь طقس मौसम mausam 天气 天気 날씨 thời_tiết
    cuaca počasí pršet temperature rain umbrella brolly sunny forecast snow colder warmer degrees outside coat`,
  'email mail': `e_mail e_mails mail courriel* correo* почт* лист* письмо maila 邮件 メール 메일 이메일 بريد* ईमेल e_posta`,
  'message sms text': `text message messages nachricht* messages mensaje mensagem messaggio wiadomość bericht сообщение
    повідомлення mesaj 消息 短信 メッセージ 메시지 رسالة संदेश pesan tin_nhắn sms смс whatsapp sage_* tell`,
  'reminder remind': `remind remember erinner* rappelle* rappel recuérda* recordatorio lembr* lembrete ricorda* przypomn*
    przypomnienie напомн* нагада* нагадув* hatırlat* herinner* připome* 提醒 リマインド リマインダー 알림 याद_दिला* ذكرني
    ingatkan nhắc_tôi`,
  'calendar event appointment meeting slot': `meeting appointment calendar diary agenda schedule termin kalender*
    rendez_vous agenda cita reunión reunião riunione spotkani* kalendarz* встреч* зустріч* календар* toplantı takvim*
    randevu* afspraak schůzk* 日历 日程 会议 予定 会議 일정 회의 موعد jadwal dentist dentista zahnarzt`,
  alarm: `wecker reveil despertador sveglia budzik будильник* alarm* wekker budík 闹钟 アラーム 알람 منبه अलार्म báo_thức
    wake_me`,
  timer: `timer* minuteur temporizador minutnik таймер* 计时 タイマー 타이머 süre_tut`,
  light: `light* bright dim licht lampe* lumière* luz luces luci luce światł* свет світло ışı* lamp lampy 灯 電気 ライト
    불_켜 불_꺼`,
  'thermostat temperature heating': `warmer colder degrees turn_down turn_up heizung chauffage calefacción riscaldamento
    ogrzewanie отопление verwarming 空调 エアコン 에어컨`,
  'music song playlist': `play put_on playlist* spiel spiele joue toca pon riproduci włącz включи ввімкни çal zahraj musik
    musique música musica muzyk* музык* müzik muziek 音乐 音楽 노래 음악 放`,
  flight: `flights flug flüge vol vols vuelo* voo voos volo voli lot loty рейс* билет* uçuş uçak vlucht* let 机票 航班 航空券
    飛行機 항공권 비행기 طيران उड़ान chuyến_bay penerbangan fly`,
  train: `zug züge train_pour tren trem treno pociąg поезд* потяг* trein vlak 火车 高铁 新幹線 電車 기차 قطار ट्रेन*`,
  'hotel room': `hotel* hôtel* albergo отел* готел* otel 酒店 ホテル 호텔 فندق होटल khách_sạn 会议室 会議室 회의실`,
  'restaurant table': `table tisch mesa tavolo stolik столик* masa tafel restaurant* ristorante restaurante meja طاولة 餐厅
    レストラン 식당`,
  stock: `shares trading trading_at ticker aktie* action_en_bourse acciones azioni akcje akcji акци* hisse aandeel 股票
    股价 株価 주가`,
  'order parcel package shipment': `order package parcel tracking_number delivery bestellung paket sendung commande colis
    pedido paquete encomenda ordine pacco zamówieni* paczk* przesyłk* заказ* посылк* посилк* замовлен* sipariş* kargo*
    bestelling pakket objednávk* zásilk* 订单 快递 单号 包裹 注文 荷物 주문 택배 طلبي طرد* ऑर्डर पार्सल pesanan paketnya
    đơn_hàng`,
  'exchange currency': `dólar dollar euro currency euros dollars yen usd eur kurs wechselkurs taux cambio câmbio kurs_walut
    курс* döviz wisselkoers 汇率 為替 환율`,
  'taxi ride cab': `ride cab uber taxi* такси таксі taksi سيارة_أجرة 打车 出租车 タクシー 택시`,
  'news web': `news latest nachrichten nouvelles noticias notícias notizie wiadomości новост* новин* haber* nieuws zprávy
    新闻 ニュース 뉴스 أخبار`,
  'contact phone': `call ring anrufen ruf appelle llama liga chiama zadzwoń позвон* bel 打电话 電話 전화`,
  'shopping todo': `shopping groceries to_do list milk einkaufsliste liste_de_courses lista_de_la_compra lista_de_compras
    lista_della_spesa listy_zakupów список_покупок alışveriş* boodschappen* lijstje nákupní* 购物清单 買い物リスト 장보기`,
};
