import { expect, test } from 'bun:test';
import { ALERT_EVENTS } from '../../src/core/tables/alerts/index.ts';

test('events that share a key of rules allow the same values', () => {
  const keys = Object.values(ALERT_EVENTS).flatMap(({ keys }) => Object.entries(keys));
  const shared = Map.groupBy(keys, ([key]) => key);
  expect(shared.values().some((owners) => owners.length > 1)).toBe(true);
  for (const [key, owners] of shared) {
    const values = owners.map(([, { description, default: usual, ...schema }]) => schema);
    for (const other of values) expect<unknown>({ key, ...other }).toEqual({ key, ...values[0] });
  }
});
