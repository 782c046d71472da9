import { expect, test } from 'bun:test';
import type { TSchema } from '@sinclair/typebox';
import { SECTIONS } from '../../../src/policy/language.ts';

/** The schemas of the API are documented elsewhere. */
const NOT_OURS = /given\.(?:messages|constraints|route_strategy)/;

interface Key {
  readonly path: string;
  readonly schema: TSchema;
}

function keysOf(path: string, schema: TSchema): Key[] {
  const inner: [string, TSchema][] = [
    ...Object.entries<TSchema>(schema.properties ?? {}),
    ...Object.values<TSchema>(schema.patternProperties ?? {}).map((one): [string, TSchema] => ['<name>', one]),
    ...(schema.items?.properties ? [['[]', schema.items] as [string, TSchema]] : []),
  ];
  const below = inner.flatMap(([key, one]) => keysOf(`${path}.${key}`, one));
  return [{ path, schema }, ...(NOT_OURS.test(path) ? [] : below)];
}

const all = Object.entries<TSchema>(SECTIONS).flatMap(([name, schema]) => keysOf(name, schema));
const isFigure = ({ schema }: Key) => schema.type === 'number' || schema.type === 'integer';

test('every key of the policy language has a description', () => {
  const silent = all.filter(({ path, schema }) => !schema.description && !path.endsWith('.<name>'));
  expect(silent.map(({ path }) => path)).toEqual([]);
});

test('every key of the policy language that has a value has an example of its type', () => {
  const values = all.filter(
    ({ schema }) => !schema.properties && !schema.patternProperties && !schema.items?.properties,
  );
  const without = values.filter(
    ({ path, schema }) => !NOT_OURS.test(path) && !path.endsWith('.<name>') && !schema.examples?.length,
  );
  expect(without.map(({ path }) => path)).toEqual([]);
  const wrong = all
    .filter(isFigure)
    .filter(({ schema }) => schema.examples?.some((one: unknown) => typeof one !== 'number'));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('every figure of the policy language states its unit, in its name or its description', () => {
  const unit =
    /_(?:ms|s|max|days|tokens|credits|window|output)\b|\b(?:USD|tokens|Tokens|ms|Milliseconds|Seconds|Days|Bytes|Most|rate|share|Share|how many|How (?:many|much)|0 to 1|Credits|quality|Version|ratio|dollars|number of)\b/i;
  const silent = all.filter(isFigure).filter(({ path, schema }) => !unit.test(`${path} ${schema.description ?? ''}`));
  expect(silent.map(({ path }) => path)).toEqual([]);
});
