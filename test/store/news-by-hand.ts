import type { News, NewsListener } from '../../src/store/news.ts';

/** News that reach one listener only when the test calls `tell`. */
export function newsByHand(news: News) {
  let heard: NewsListener = () => {};
  const on = (_: string, listener: NewsListener) => {
    heard = listener;
    return () => {};
  };
  return { news: { ...news, on, ageOf: () => 0 }, tell: () => heard() };
}
