import { type AlertMark, type AlertMessage, type AlertTable, isWaiting } from '../../../src/store/alerts.ts';
import { isSameInstance } from '../../../src/store/instance.ts';
import { type MemoryStore, MemoryTable, unmet } from './store.ts';

const isSame = (one: AlertMark, other: AlertMark): boolean =>
  one.state === other.state && one.since === other.since && isSameInstance(one.owner, other.owner);

export function memoryAlerts(store: MemoryStore): AlertTable {
  const marks = new MemoryTable<string, AlertMark>(store);
  const messages = new MemoryTable<number, AlertMessage>(store);
  const oldestFirst = (): AlertMessage[] => messages.rows().sort((a, b) => a.id - b.id);
  return {
    marks: async () => marks.rows().sort((a, b) => (a.id < b.id ? -1 : 1)),
    mark: ({ seen, mark }) =>
      store.write(() => {
        const found = marks.get(mark.id);
        if (seen ? !found || !isSame(found, seen) : found) unmet();
        marks.put(mark.id, mark);
      }),
    insert: (message) => store.write(() => messages.put(message.id, message)),
    update: (message, seen) =>
      store.write(() => {
        const found = messages.get(message.id);
        if (!found || !isSameInstance(found.owner, seen)) return unmet();
        messages.put(message.id, { ...found, deliveries: message.deliveries, owner: message.owner });
      }),
    waiting: async () => oldestFirst().filter(isWaiting),
    list: async ({ before, limit }) =>
      oldestFirst()
        .filter(({ id }) => before === null || id < before)
        .reverse()
        .slice(0, limit),
    prune: (time, most) => [
      store.write(() => {
        for (const { id, state, until } of marks.rows()) if (state !== 'open' && until <= time) marks.delete(id);
      }),
      store.write(() => {
        for (const message of oldestFirst().reverse().slice(most)) if (!isWaiting(message)) messages.delete(message.id);
      }),
    ],
  };
}
