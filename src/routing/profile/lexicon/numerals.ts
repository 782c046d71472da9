/** Number words for lengths, without those that are everyday words too. */
export const NUMERALS: Readonly<Record<string, string>> = {
  2: 'two zwei deux dos dois duas due twee dwa dwie dwóch dwoma dva dvě dvou два две двух дві двох iki dua 两 兩',
  3: 'three drei trois tres três tre drie trzy trzech tři třech три трёх трех трьох üç tiga 三',
  4: 'four vier quatre cuatro quatro quattro cztery czterech čtyři čtyřech четыре четырех чотири dört empat 四',
  5: 'five fünf cinq cinco cinque vijf pięć pięciu pět pěti пять пяти beş lima 五',
  6: 'six sechs seis zes sześć šest шесть шести шість altı enam',
  7: 'seven sieben siete sette zeven siedem sedm семь сім yedi tujuh',
  8: 'eight huit ocho oito otto osiem osm восемь вісім sekiz delapan',
  9: 'nine neun nueve negen dziewięć devět девять dokuz sembilan',
  10: 'ten zehn diez dieci tien dziesięć dziesięciu deset десять sepuluh 十',
};
