import { jsonSchema } from '../../../plugins/guards/json-schema.ts';
import { language } from '../../../plugins/guards/language.ts';
import { model } from '../../../plugins/guards/model.ts';
import { personalData } from '../../../plugins/guards/personal-data.ts';
import { secrets } from '../../../plugins/guards/secrets.ts';
import { lakera } from '../../../plugins/guards/services/lakera.ts';
import { presidio } from '../../../plugins/guards/services/presidio.ts';
import { webhook } from '../../../plugins/guards/services/webhook.ts';
import { size } from '../../../plugins/guards/size.ts';
import { words } from '../../../plugins/guards/words.ts';
import type { GuardService, PreparedGuard } from '../../../src/contract/guard.ts';
import type { GuardRule } from '../../../src/core/policy/guards.ts';
import { createCompletion } from '../../../src/dialects/openai-chat/surface.ts';
import { GuardChain } from '../../../src/gateway/guards/guard-chain.ts';
import { AnswerBlocked } from '../../../src/gateway/guards/held-parts.ts';
import { Placeholders } from '../../../src/gateway/guards/placeholders.ts';
import { textsOfRequest } from '../../../src/gateway/guards/request-texts.ts';
import { Verdicts } from '../../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../../src/host/turns.ts';
import type { Shape } from '../../support/in-time.ts';
import { readOn } from '../../support/read-request.ts';
import { mapped, type WorstReader } from './reader.ts';
import { ANY_TEXTS, WORST_TEXTS } from './texts.ts';

type TextShapes = (typeof WORST_TEXTS)[string];
const of = (piece: string) => (parts: number) => piece.repeat(parts);

const PERSONAL: TextShapes = {
  ...WORST_TEXTS.email,
  ...WORST_TEXTS.phone,
  ...WORST_TEXTS.card,
  ...WORST_TEXTS.iban,
  'numbers of persons': of('123-45-6789 '),
  'words of numbers': of('bsn 111222333 '),
};

const SECRETS: TextShapes = {
  ...WORST_TEXTS.secret,
  'private keys': of('-----BEGIN PRIVATE KEY-----\nAAAA '),
  'lines of a key': (parts) => `-----BEGIN PRIVATE KEY-----${'\nAAAA'.repeat(parts)}`,
  'escaped lines': (parts) => `-----BEGIN PRIVATE KEY-----${'\\nAAAA'.repeat(parts)}`,
  'names of passwords': of('password='),
  'addresses of servers': of('a://b:c@'),
  'one address': of('postgres://a:'),
  'a long password in an address': (parts) => `postgres://a:${'b'.repeat(parts)}`,
  'a long user in an address': (parts) => `postgres://${'b'.repeat(parts)}`,
  'names in a value': of('token:'),
  'names in a secret': (parts) => `token="${'a1B2token='.repeat(parts)}`,
  'names and quotes': of('token="'),
  'types of credentials': of('token: a '),
  'words of a value': (parts) => `token=${'word_'.repeat(parts)}`,
  'short beginnings': of('sk_list_of_names '),
  'one name with short beginnings': of('sk_list_'),
  'words after bearers': of('Bearer authentication '),
  'first lines of keys': of('-----BEGIN PRIVATE KEY-----\n'),
  'random runs': of('aB3dE5gH7jK9mN1pQ3rS5tU7 '),
};

/** The worst texts, by the name of a guard. */
export const WORST_GUARDS: Readonly<Record<string, TextShapes>> = {
  secrets: { ...ANY_TEXTS, ...SECRETS },
  'personal-data': { ...ANY_TEXTS, ...PERSONAL },
  words: {
    ...ANY_TEXTS,
    falcons: of('falcon '),
    'allowed falcons': of('falcon heavy '),
    'parts of falcons': of('falco'),
  },
  size: ANY_TEXTS,
  language: ANY_TEXTS,
  'json-schema': {
    ...ANY_TEXTS,
    'quotes in a text': (parts) => `{"a": "${'x"y'.repeat(parts)}`,
    'joined texts': (parts) => `["a"${'+"a"'.repeat(parts)}`,
    'lines of objects': (parts) => `[${'{"a":1}\n'.repeat(parts)}`,
    'a list that fits': (parts) => `[${'1,'.repeat(parts)}1]`,
  },
};

const PREPARED: Readonly<Record<string, PreparedGuard>> = {
  secrets: secrets.prepare({ entropy: true }),
  'personal-data': personalData.prepare({
    kinds: ['email', 'phone', 'card', 'iban', 'national', 'ip'],
    countries: ['be', 'br', 'de', 'es', 'fr', 'gb', 'it', 'nl', 'pl', 'se', 'us'],
  }),
  words: words.prepare({
    deny: ['falcon', 'fa*', '(a'],
    patterns: ['(a*)*b', '(?:falco)+n{2,9}', '\\w+@\\w+'],
    allow: ['falcon heavy'],
    case_sensitive: false,
    longest_match: 256,
  }),
  size: size.prepare({ characters: 1_000 }),
  language: language.prepare({ scripts: ['latin'], share: 0.3, letters: 20 }),
  'json-schema': jsonSchema.prepare({
    schema: { type: 'array', items: { type: 'number' } },
    tools: true,
    repair: true,
    repairs: 0,
  }),
};

/**
 * The time of a repair grows with the square of the length, up to the longest text that is repaired. These are the slowest texts; many of
 * them take time in proportion to their number.
 */
const SLOWEST_REPAIRS: Readonly<Record<string, string>> = {
  'lists without commas': `[${'1 '.repeat(16_383)}`,
  'deep lists': '['.repeat(4_096),
};

/** The reply of a guard's service to a text. */
interface ServiceReply {
  readonly text: string;
  readonly reply: unknown;
}

/** Places count code points, so each of these words has a character of two units. */
const WORDS = of('Ada 😀 ');
const atWords = (parts: number) => Array.from({ length: parts }, (_, at) => ({ start: 6 * at, end: 6 * at + 3 }));

/** The worst replies of services, by the name of the guard. */
export const WORST_SERVICES: Readonly<Record<string, Readonly<Record<string, (parts: number) => ServiceReply>>>> = {
  presidio: {
    matches: (parts) => ({
      text: WORDS(parts),
      reply: [atWords(parts).map((at) => ({ entity_type: 'PERSON', ...at, score: 1 }))],
    }),
  },
  lakera: {
    'matches with places': (parts) => ({
      text: WORDS(parts),
      reply: {
        flagged: true,
        payload: atWords(parts).map((at) => ({ ...at, text: 'Ada', message_id: 0, detector_type: 'pii/name' })),
      },
    }),
    'matches without places': (parts) => ({
      text: WORDS(parts),
      reply: {
        flagged: true,
        breakdown: Array.from({ length: parts }, (_, at) => ({
          detected: true,
          message_id: at,
          detector_type: `d${at}`,
        })),
      },
    }),
  },
  model: {
    'words of an answer': (parts) => ({ text: WORDS(parts), reply: 'safe '.repeat(parts) }),
    'signs of an answer': (parts) => ({ text: WORDS(parts), reply: `${'"'.repeat(parts)}safe` }),
  },
  webhook: { 'parts of a reply': (parts) => ({ text: WORDS(parts), reply: Array(parts).fill('a') }) },
};

const SERVICES: Readonly<Record<string, PreparedGuard>> = {
  presidio: presidio.prepare({ entities: ['PERSON'], language: 'en', score: 0.5 }),
  lakera: lakera.prepare({}),
  webhook: webhook.prepare({ headers: {} }),
  model: model.prepare({ check: 'moderation', texts: 'all', match: 'unsafe', pass: 'safe', output_tokens: 64 }),
};

const replying = (reply: unknown): GuardService => ({
  apiKey: null,
  post: async () => ({ status: 200, headers: new Headers(), text: JSON.stringify(reply) }),
});

const asWindow = (text: string) => ({
  side: 'output' as const,
  texts: [{ text, role: 'assistant' as const, kind: 'text' as const }],
});

/** Sends a text through a guard as a stream of short parts. */
function stream(prepared: PreparedGuard, text: string): void {
  const rule: GuardRule = {
    name: 'guard',
    place: { file: '', line: 1, column: 1 },
    plugin: '',
    settings: {},
    isPure: true,
    window: 'message',
    when: null,
    on: ['output'],
    onMatch: 'mask',
    onFailure: 'flag',
    deadlineMs: 60_000,
    buffersWhole: false,
    unmask: [],
    refuse: [],
  };
  const placeholders = new Placeholders(() => new Uint8Array(32));
  const context = {
    request: chat([]),
    verdicts: new Verdicts(),
    placeholders,
    clock: () => 0,
    timers: processTimers,
    turns: AT_ONCE,
    onFailure: () => {},
  };
  const parts = new GuardChain([{ rule, prepared }], true, context);
  try {
    for (let at = 0; at < text.length; at += 8) parts.add([{ type: 'text', choice: 0, text: text.slice(at, at + 8) }]);
    parts.end();
  } catch (cause) {
    if (!(cause instanceof AnswerBlocked)) throw cause;
  }
}

const chat = (content: unknown) =>
  readOn(createCompletion, { model: 'm', messages: [{ role: 'user', content: 'Hi.' }, ...[content].flat()] }).request;
const call = (text: string) => ({
  role: 'assistant',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }],
});

/** The guards that come with Signalbox, on whole texts and on streams, and the walk over the texts of a request. */
export const guardReaders: readonly WorstReader[] = [
  ...Object.entries(WORST_SERVICES).map(
    ([name, shapes]): WorstReader => ({
      name: `guard ${name}`,
      shapes: mapped(
        shapes,
        ({ text, reply }) =>
          () =>
            SERVICES[name]!.check(asWindow(text), replying(reply), { ask: () => Promise.resolve(String(reply)) }),
      ),
      weight: 4,
    }),
  ),
  ...Object.entries(WORST_GUARDS).flatMap(([name, shapes]): WorstReader[] => [
    { name: `guard ${name}`, shapes: mapped(shapes, (text) => () => PREPARED[name]!.check(asWindow(text))), weight: 4 },
    {
      name: `guard ${name} on a stream`,
      shapes: mapped(shapes, (text) => () => stream(PREPARED[name]!, text)),
      weight: 32,
    },
  ]),
  {
    name: 'guard json-schema on the slowest texts that it repairs',
    shapes: Object.fromEntries(
      Object.entries(SLOWEST_REPAIRS).map(([what, text]): [string, Shape] => [
        what,
        (parts) => {
          const texts = Array(parts).fill(asWindow(text).texts[0]);
          return () => PREPARED['json-schema']!.check({ ...asWindow(text), texts });
        },
      ]),
    ),
    partsMax: 1,
  },
  {
    name: 'texts of a request',
    shapes: mapped(
      {
        messages: (parts) => chat(Array(parts).fill({ role: 'user', content: 'Hi.' })),
        'parts of a message': (parts) =>
          chat({ role: 'user', content: Array(parts).fill({ type: 'text', text: 'Hi.' }) }),
        'members of arguments': (parts) =>
          chat(call(`{${Array.from({ length: parts }, (_, at) => `"m${at}":"v"`).join()}}`)),
        'repeated members of arguments': (parts) => chat(call(`{${'"m":"v",'.repeat(parts)}"n":1}`)),
        'long numbers in arguments': (parts) => chat(call(`[${'4111111111111111110,'.repeat(parts)}1]`)),
        'one long number in arguments': (parts) => chat(call(`[${'4'.repeat(parts)}]`)),
        'points of numbers in arguments': (parts) => chat(call(`["${': 1.1.'.repeat(parts)}"]`)),
        'levels of arguments': (parts) => chat(call(`${'['.repeat(parts)}1${']'.repeat(parts)}`)),
        'escapes in arguments': (parts) => chat(call(`{"m":"${'\\"'.repeat(parts)}"}`)),
      },
      (request) => () => textsOfRequest(request),
    ),
    weight: 4,
  },
];
