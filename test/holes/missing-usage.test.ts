import { afterAll, describe, expect, test } from 'bun:test';
import { isObject, type Json, objectOf } from '../../plugins/providers/json.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox } from '../support/use.ts';
import { CHAT, eventsIn, framed, MESSAGES, RESPONSES, startTextService, type UnmeteredDialect } from './unmetered.ts';

/**
 * Services that leave out figures of the usage, or send values that are no counts. A caller of Messages must get a count instead, never
 * null.
 */
const service = startTextService();
afterAll(() => service.stop());
const SERVICES = [MESSAGES, CHAT, RESPONSES];
const box = useSignalbox(() => ({
  policy: testPolicy(
    Object.fromEntries(SERVICES.map(({ adapter }) => [adapter, { url: service.url, adapter }])),
    Object.fromEntries(SERVICES.map(({ adapter }) => [adapter, { endpoints: [adapter] }])),
  ),
}));

const SAID = [{ kind: 'text', pieces: ['one ', 'two '], state: '' }];
const FIGURES = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const;
/** The JSON text of a figure. */
const ODD = ['null', 'left out', '"42"', '"NaN"', '-1', '1.5', '1e300', '1e999', '[]', 'true'] as const;

/** The JSON of a usage with one odd figure. The text `1e999` marks the place of the odd figure, because no other value has this text. */
function usageWith(name: string, odd: string): { readonly usage: Json; fix(json: string): string } {
  const usage = { input_tokens: 8, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  return {
    usage: { ...usage, [name]: odd === 'left out' ? undefined : '§odd§' },
    fix: (json) => json.replaceAll('"§odd§"', odd),
  };
}

function eventsWith(start: Json | undefined, end: Json | undefined): Json[] {
  const [first, ...rest] = MESSAGES.events(SAID);
  const [delta, stop] = rest.splice(-2);
  return [
    { ...first, message: { ...objectOf(first!.message), usage: start } },
    ...rest,
    { ...delta, usage: end },
    stop!,
  ];
}

/** The usages in an answer to a caller of Messages: at the start and the end of a stream, or in a JSON body. */
async function usagesFor(of: UnmeteredDialect, stream: boolean): Promise<readonly unknown[]> {
  const response = await box.post(MESSAGES.path, { ...MESSAGES.request(of.adapter, 4_000), stream });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  if (!stream) return [JSON.parse(text).usage];
  const events = eventsIn(text);
  const start = events.find(({ type }) => type === 'message_start');
  const end = events.findLast(({ type }) => type === 'message_delta');
  return [objectOf(start?.message).usage, end?.usage];
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function expectCounts(usages: readonly unknown[]): void {
  for (const [at, usage] of usages.entries()) {
    if (!isObject(usage)) throw new Error(`usage ${at} is ${JSON.stringify(usage)}`);
    const { input_tokens: input, output_tokens: output } = usage;
    expect([isCount(output), at > 0 || isCount(input)]).toEqual([true, true]);
    for (const name of FIGURES) expect([name, usage[name] === undefined || isCount(usage[name])]).toEqual([name, true]);
  }
}

describe.each(FIGURES)('a caller of Messages gets counts if the service’s `%s` is', (name) => {
  test.each(ODD)('%s', async (odd) => {
    const { usage, fix } = usageWith(name, odd);
    for (const [start, end] of [
      [usage, usage],
      [usage, { output_tokens: 3 }],
      [{ input_tokens: 8, output_tokens: 1 }, usage],
    ]) {
      service.lay(fix(framed(eventsWith(start, end)).join('')));
      expectCounts(await usagesFor(MESSAGES, true));
    }
    service.lay(fix(JSON.stringify({ ...MESSAGES.whole(SAID), usage })));
    for (const stream of [true, false]) expectCounts(await usagesFor(MESSAGES, stream));
  });
});

test.each([
  ['left out', {}],
  ['null', { usage: null }],
  ['empty', { usage: {} }],
  ['a list', { usage: [] }],
])('a caller of Messages gets counts if the whole usage is %s', async (_, event) => {
  service.lay(
    framed(
      eventsWith(undefined, undefined).map((one) => (one.type === 'message_delta' ? { ...one, ...event } : one)),
    ).join(''),
  );
  expectCounts(await usagesFor(MESSAGES, true));
  service.lay(JSON.stringify({ ...MESSAGES.whole(SAID), ...event }));
  for (const stream of [true, false]) expectCounts(await usagesFor(MESSAGES, stream));
});

describe.each([CHAT, RESPONSES])('a caller of Messages gets counts from $name if a figure is missing', (of) => {
  test.each(ODD)('where a figure is %s', async (odd) => {
    const names =
      of === CHAT
        ? ['prompt_tokens', 'completion_tokens', 'total_tokens']
        : ['input_tokens', 'output_tokens', 'total_tokens'];
    for (const name of names) {
      const usage = {
        ...Object.fromEntries(names.map((one) => [one, 8])),
        [name]: odd === 'left out' ? undefined : '§odd§',
      };
      const fix = (json: string) => json.replaceAll('"§odd§"', odd);
      const all = SAID;
      const last = of.events(all).at(-1)!;
      const events = of.events(all).slice(0, -1);
      const end = of === CHAT ? { ...last, usage } : { ...last, response: { ...objectOf(last.response), usage } };
      service.lay(fix(framed([...events, end]).join('')));
      expectCounts(await usagesFor(of, true));
      service.lay(fix(JSON.stringify({ ...of.whole(all), usage })));
      expectCounts(await usagesFor(of, false));
    }
  });
});
