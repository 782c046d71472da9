import { expect, test } from 'bun:test';
import { decodeBody, encodeBody } from '../../../src/store/sql/records/body.ts';
import { record } from './support.ts';

test.each([[null], [['model-a']], [['model-b', 'model-a']]])(
  'a record keeps the models that its request names: %j',
  (named) => {
    const { facts, ...rest } = record(1, 2);
    const stored = { ...facts, model: named?.[0] ?? 'auto', named };
    expect(decodeBody(encodeBody({ ...rest, facts: stored })).facts).toEqual(stored);
  },
);
