import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../../src/core/schema/check.ts';

test('a schema is compiled at the first value, not before, and only once', () => {
  let reads = 0;
  const schema = Type.Object({ name: Type.String() });
  const watched = new Proxy(schema, {
    get(target, member, receiver) {
      reads++;
      return Reflect.get(target, member, receiver);
    },
  });
  const form = new SchemaCheck(watched);
  expect(reads).toBe(0);
  expect(form.accepts({ name: 'a' })).toBe(true);
  const compiled = reads;
  expect(form.accepts({ name: 1 })).toBe(false);
  expect(reads).toBe(compiled);
});

test('the first error of a value has its path', () => {
  expect(new SchemaCheck(Type.Object({ name: Type.String() })).errorOf({ name: 1 })?.path).toBe('/name');
});
