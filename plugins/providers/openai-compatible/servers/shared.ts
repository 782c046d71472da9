import type { ServedModel, ServerRequest } from 'signalbox/plugin';
import { beyondLimits, isObject } from 'signalbox/plugin';
import { type Json, objectOf, objectsIn, parseJson, textOf } from '../../json.ts';

/** The most JSON values in one answer of a model server. A list of 500 models has about 15,000 values. */
const VALUES_MAX = 100_000;

/** Parses an answer of a server. Returns undefined for an answer that failed, or that is no JSON within limits. */
export const answerIn = (body: string | null | undefined): unknown =>
  body == null || beyondLimits(body, VALUES_MAX) ? undefined : parseJson(body);

/** Returns the objects of a list in an answer; null if the answer has no such list. */
export function listIn(body: string | null | undefined, key: string): readonly Json[] | null {
  const answer = answerIn(body);
  const list = isObject(answer) ? answer[key] : undefined;
  return Array.isArray(list) ? objectsIn(list) : null;
}

/** Returns the members of an answer; none for an answer that is not an object. */
export const membersIn = (body: string | null | undefined): Json => objectOf(answerIn(body));

/** Requests a list in the form of OpenAI’s `GET /models`. */
export const OPENAI_LIST: ServerRequest = { path: '/models', below: 'base_url' };

type Operation = NonNullable<ServedModel['operation']>;

/** The words of a server for models of each operation. If words name several operations, the first one in the table counts. */
export type OperationWords = Readonly<Record<Operation, readonly string[]>>;

/** Returns the operation that words of a server name; `chat` if they name none. */
export function operationIn(words: readonly unknown[], table: OperationWords): Operation {
  const named = Object.entries(table).find(([, own]) => own.some((word) => words.includes(word)));
  // The type of the table limits its keys, which `Object.entries` forgets.
  return (named?.[0] as Operation | undefined) ?? 'chat';
}

/** Leaves out the members that are undefined, because the host merges the facts of several answers. */
export function stated<Facts extends object>(
  facts: {
    readonly [Key in keyof Facts]: Facts[Key] | undefined;
  },
): Partial<Facts> {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Facts>;
}

const UNITS: Readonly<Record<string, number>> = { K: 1e3, M: 1e6, B: 1e9, T: 1e12 };

/** Reads a number of parameters such as `134.52M` or `8.0B`. */
export function parametersIn(text: unknown): number | undefined {
  const [, figure, unit] = /^(\d{1,6}(?:\.\d{1,4})?)([KMBT])$/i.exec(textOf(text)) ?? [];
  const scale = UNITS[unit?.toUpperCase() ?? ''];
  return figure !== undefined && scale !== undefined ? Math.round(Number(figure) * scale) : undefined;
}
