import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { closed } from '../../core/define/fields.ts';
import { isObject, objectOf, parseJson } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';
import { HOST_PATTERN } from '../../core/policy/sourced-key.ts';
import type { Timers } from '../../core/time/timers.ts';

/** A token of a cloud, with the time at which it ends, ms since 1970; null if the source does not say when. */
export interface Token {
  readonly value: string;
  readonly expiresAt: number | null;
}

/** Why a source has no token. The message is one sentence for the operator, without full stop and without a secret. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

/** A request of a source. */
export interface SourceRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer to a request of a source. */
export interface SourceReply {
  readonly status: number;
  readonly text: string;
}

/** Sends a request of a source. Rejects with OutboundError. */
export type SourceCall = (request: SourceRequest) => Promise<SourceReply>;

/** What a source may use. Tests replace the calls. */
export interface SourceContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Reads a variable of the process. */
  readonly env: (name: string) => string | undefined;
  /** Reads a variable with a secret, which may be in the file that `NAME_FILE` names. */
  readonly secret: (name: string) => string | undefined;
  /** Calls a token service on the internet or in a private network. */
  readonly call: SourceCall;
  /** Calls a metadata service of the machine or container. */
  readonly callMetadata: SourceCall;
}

/** A kind of token source. */
export interface SourceKind {
  /** The word in `source`. */
  readonly name: string;
  /** The schema of its entries in the credentials file. */
  readonly text: TObject;
  /** Returns the function that fetches a token. @param stated an entry that satisfies `text` */
  open(stated: unknown, context: SourceContext): () => Promise<Token>;
}

/** The hosts of an entry. */
export const HOSTS = Type.Array(Type.String(HOST_PATTERN), {
  minItems: 1,
  maxItems: 32,
  examples: [['bedrock-runtime.eu-central-1.amazonaws.com']],
  description:
    'The hosts that may receive the token. A `*` at the beginning stands for a part of the first label. Other hosts than this machine need `https://`, unless the entry begins with `http://`.',
});

/** Defines a kind of token source. `fetch` rejects with SourceError or OutboundError. */
export function defineSource<P extends TProperties>(
  name: string,
  about: string,
  properties: P,
  fetch: (settings: Static<TObject<P>>, context: SourceContext) => Promise<Token>,
): SourceKind {
  const own = Type.Object(properties);
  const all: TProperties = { source: Type.Literal(name, { description: about }), hosts: HOSTS, ...properties };
  const text = closed(about, all);
  return {
    name,
    text,
    open(stated, context) {
      if (!Value.Check(own, stated)) throw new Error(`an entry of the source ${name} was not checked`);
      return () => fetch(stated, context);
    },
  };
}

/** Reads the JSON object of a successful answer. @param what the service, for messages @throws SourceError */
export function readJson({ status, text }: SourceReply, what: string): Members {
  const body = parseJson(text);
  if (status < 200 || status > 299)
    throw new SourceError(`${what} refuses the request with status ${status}${reason(objectOf(body))}`);
  if (!isObject(body)) throw new SourceError(`the answer of ${what} is not a JSON object`);
  return body;
}

/** The most characters of a service's own words in a message. */
const REASON_MAX = 300;

/** Returns the service's reason in its usual places: `error_description`, `error.message`, `message` or `error`. */
function reason({ error_description, error, message }: Members): string {
  const text = [error_description, objectOf(error).message, message, error].find((word) => typeof word === 'string');
  return text === undefined ? '' : `: ${shorten(text)}`;
}

/** Returns a text of a service as one short line. */
export const shorten = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().replace(/\.$/, '').slice(0, REASON_MAX);

/** Returns a text member of an answer. @throws SourceError */
export function textIn(body: Members, name: string, what: string): string {
  const value = body[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new SourceError(`the answer of ${what} has no ${name}`);
}

/** Returns the end of a token whose life an OAuth answer states in `expires_in`, s. @throws SourceError */
export function expiryIn(body: Members, now: number, what: string): number {
  const seconds = Number(body.expires_in);
  if (Number.isFinite(seconds) && seconds > 0) return now + seconds * 1_000;
  throw new SourceError(`the answer of ${what} has no expires_in`);
}

/** Writes a form body. Absent values are left out. */
export function formBody(fields: Readonly<Record<string, string | undefined>>): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value);
  return form.toString();
}

export const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' } as const;
