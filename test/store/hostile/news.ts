import { type News, NewsDesk, type NewsNumbers } from '../../../src/store/news.ts';
import type { MemoryStore } from '../memory/store.ts';
import type { Connection, Weather } from './connection.ts';

/** The news of a store as one instance receives it: late, twice or never. A poll reads the store itself. */
export function newsOver(store: MemoryStore, connection: Connection, weather: Weather): News {
  const { clock, random } = weather;
  const desk = new NewsDesk();
  // A listener that fails is called again at the next poll.
  const tell = (numbers: NewsNumbers) => {
    if (!connection.isCrashed) desk.tell(numbers).catch(() => {});
  };
  const arrive = (numbers: NewsNumbers, isLate: boolean): void => {
    const ms = Math.ceil(random() * weather.faults.delayMs);
    if (isLate || connection.isPaused)
      clock.after(Math.max(isLate ? ms : 0, connection.pausedFor), () => tell(numbers));
    else tell(numbers);
  };
  store.newsHeard.add((numbers) => {
    const { newsLate, newsLost, newsTwice } = weather.faults;
    const isTwice = random() < newsTwice;
    if (connection.isAway || random() < newsLost) return;
    arrive(numbers, random() < newsLate);
    if (isTwice) arrive(numbers, true);
  });
  return {
    raise: (subject) => store.news.raise(subject),
    on: (subject, listener) => desk.on(subject, listener),
    async look() {
      const at = clock.now();
      await desk.tell(await connection.read(Promise.resolve(store.newsNumbers)), at);
    },
    lookEveryMs: 100,
    ageOf: (subject) => desk.ageOf(subject, clock.now()),
  };
}
