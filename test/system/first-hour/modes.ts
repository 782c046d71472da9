import type { Behaviour, RecordedRequest } from '../../support/fake-upstream.ts';

/** The modes that a client must support with every model: a text, a stream, a tool loop, a structured answer. */
export const MODES = ['text', 'stream', 'tools', 'structured'] as const;
export type Mode = (typeof MODES)[number];

export interface Target {
  /** The address of the server, without `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

/** A client in a dialect: how the client reads the answer in each mode. */
export type Drive = Readonly<Record<Mode, (target: Target) => Promise<unknown>>>;

/** Loads a package from the client's own folder. */
export type Load = (name: string) => Promise<unknown>;

const HELLO = 'Hello, you!';
const CITY = { name: 'Bern', people: 134_000 };
export const WEATHER = '20 °C';
export const EXPECTED: Readonly<Record<Mode, unknown>> = {
  text: HELLO,
  stream: HELLO,
  tools: `It is ${WEATHER} in Bern.`,
  structured: CITY,
};

/**
 * The answer of every fake service, derived from the request. A tool other than the weather tool is a client's way to request structured
 * output.
 */
export function replyTo({ asked }: RecordedRequest): Behaviour {
  if (asked.schema !== null) return { text: JSON.stringify(CITY) };
  const form = asked.tools.find((name) => name !== 'weather');
  if (form !== undefined) return { toolCalls: [{ name: form, arguments: JSON.stringify(CITY), id: 'call_1' }] };
  if (asked.tools.length === 0) return { text: HELLO };
  const [result] = asked.turns.at(-1)?.results ?? [];
  if (result !== undefined) return { text: `It is ${result.text} in Bern.` };
  return { toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}', id: 'call_1' }] };
}
