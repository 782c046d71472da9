import { afterEach, describe, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { useGateways, useUpstream } from '../../support/use.ts';
import { contentOf, EMAIL, guardedPolicy, MASK_EMAIL, PLACEHOLDER, send, WAYS } from './support.ts';

const upstream = useUpstream();
afterEach(() => upstream.behave(() => ({})));
const gatewayWith = useGateways();
const boxWith = (guards: string) => gatewayWith(guardedPolicy(upstream.url, guards));

/** The texts in the deltas of a stream, or the whole body. */
const shownText = (body: string): string =>
  [...body.matchAll(/"(?:content|text|delta)":"([^"]*)"/g)].map(([, piece]) => piece).join('');

/** The letters of a text as single parts, so that every match is cut. */
const LETTERS = [...`Write to ${EMAIL}, or to bob@example.com. `, ...'That is all that I know about it. '.repeat(20)];

describe('a guard that masks the output', () => {
  test.each(WAYS)('shows a placeholder in place of every match, and the rest unchanged: %s', async (_, way) => {
    const box = await boxWith(MASK_EMAIL);
    upstream.next({ text: LETTERS });
    const response = await send(way, box, 'Say it.');
    const { text, platform } = await contentOf(way, response);
    expect(text).not.toContain('@');
    expect(new Set(text.match(PLACEHOLDER)).size).toBe(2);
    expect(text.replace(PLACEHOLDER, '*')).toBe(LETTERS.join('').replace(EMAIL, '*').replace('bob@example.com', '*'));
    expect(platform?.credits_consumed).toBeGreaterThan(0);
  });
});

describe('a guard that blocks the output', () => {
  const BLOCK = (buffer: string) =>
    `  - { name: no-mail, guard: personal-data, settings: { kinds: [email] }, on: [output], on_match: block, buffer: ${buffer} }`;

  test.each(WAYS)('shows no byte of the match or after it, and charges the answer: %s', async (_, way) => {
    const box = await boxWith(BLOCK('window'));
    const before = 'Nothing to see here. '.repeat(40);
    upstream.next({ text: [...before, ...`Write to ${EMAIL} now.`, ...' And then? '.repeat(60)] });
    const response = await send(way, box, 'Say it.');
    const text = await response.text();
    expect(/content_blocked/i.test(text)).toBeTrue();
    expect(shownText(text)).not.toContain('qu');
    expect(shownText(text)).not.toContain('And then');
    expect(response.status).toBe(way.isStream ? 200 : 400);
    if (!way.isStream) expect(Number(response.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
    const id = response.headers.get('x-signalbox-decision-id')!;
    const record = await waitFor(async () => {
      const found = (await (await box.get(`/v1/decisions/${id}`)).json()) as {
        facts: Record<string, unknown>;
        outcome: Record<string, unknown>;
      };
      return found.outcome ? found : undefined;
    });
    expect(record.outcome).toMatchObject({
      error: 'content_blocked',
      guards: [{ guard: 'no-mail', side: 'output', action: 'block', matches: { email: 1 } }],
    });
  });

  test.each(WAYS.filter(([, { isStream }]) => isStream))(
    'with `buffer: whole`, a stream shows nothing of the text: %s',
    async (_, way) => {
      const box = await boxWith(BLOCK('whole'));
      upstream.next({ text: [...'Nothing to see here. '.repeat(40), `Write to ${EMAIL}.`] });
      const text = await (await send(way, box, 'Say it.')).text();
      expect(/content_blocked/i.test(text)).toBeTrue();
      expect(shownText(text)).not.toContain('Nothing');
    },
  );
});

describe('a guard that flags', () => {
  test.each(WAYS)('changes and delays nothing, and counts the matches in the record: %s', async (_, way) => {
    const box = await boxWith(
      '  - { name: dry-run, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: flag }',
    );
    upstream.next({ text: LETTERS });
    const response = await send(way, box, `I am ${EMAIL}.`);
    const id = response.headers.get('x-signalbox-decision-id')!;
    expect((await contentOf(way, response)).text).toBe(LETTERS.join(''));
    const record = (await (await box.get(`/v1/decisions/${id}`)).json()) as {
      facts: Record<string, unknown>;
      outcome: Record<string, unknown>;
    };
    const flagged = { guard: 'dry-run', action: 'flag', text: expect.any(String), failed: false, unreadable: null };
    expect(record.outcome.guards).toEqual([
      { ...flagged, side: 'input', matches: { email: 1 } },
      { ...flagged, side: 'output', matches: { email: 2 } },
    ]);
    expect(record.facts.guards).toEqual({ 'dry-run': 1 });
  });
});

describe('a guard that flags what is hard to keep as it is', () => {
  const FLAG =
    '  - { name: dry-run, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: flag }';
  const ARGUMENTS = `{"to":"${EMAIL}", "to" : "none", "n": 12345678901234567890}`;
  const tools = [{ type: 'function', function: { name: 'mail', parameters: { type: 'object' } } }];
  const history = [
    { role: 'user', content: `I am ${EMAIL}.` },
    {
      role: 'assistant',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'mail', arguments: ARGUMENTS } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'Sent.' },
  ];

  /** Returns what the provider and the caller get, without the names and the time of the answer. */
  const exchange = async (guards: string, stream: boolean) => {
    const box = await boxWith(guards);
    upstream.next({ toolCalls: [{ name: 'mail', arguments: ARGUMENTS, id: 'call_2' }] });
    const response = await box.post('/v1/chat/completions', { model: 'best', messages: history, tools, stream });
    const answer = (await response.text()).replaceAll(
      /chatcmpl-\w+|"created":\d+|,"platform":\{.*?\}\]?(?=\}\n|\}$)/gs,
      '',
    );
    return { sent: upstream.requests.at(-1)!.text, answer };
  };

  test.each([false, true])('leaves every byte of the request and of the answer (stream: %p)', async (stream) => {
    const flagged = await exchange(FLAG, stream);
    expect(flagged).toEqual(
      await exchange(FLAG.replace('input, output', 'input').replace('name: dry', 'when: "false", name: dry'), stream),
    );
    expect(flagged.sent).toContain(JSON.stringify(ARGUMENTS));
  });
});

describe('guards in a list', () => {
  const LIST = (first: string, second: string) =>
    [first, second]
      .map((action, at) => {
        const [plugin, settings] = at === 0 ? ['personal-data', '{ kinds: [email] }'] : ['words', '{ deny: [quxley] }'];
        return `  - { name: g${at}, guard: ${plugin}, settings: ${settings}, on: [output], on_match: ${action} }`;
      })
      .join('\n');

  test.each(WAYS)('see an answer as the guards before them left it: %s', async (_, way) => {
    const box = await boxWith(LIST('mask', 'block'));
    upstream.next({ text: LETTERS });
    const { text } = await contentOf(way, await send(way, box, 'Say it.'));
    expect(text).toContain('[email:');
    upstream.next({ text: [...LETTERS, 'And quxley.'] });
    expect(await (await send(way, box, 'Say it.')).text()).toMatch(/content_blocked/i);
  });
});

describe('a guard that masks an answer that the request wants as JSON', () => {
  const MASK =
    '  - { name: pii, guard: personal-data, settings: { kinds: [email, card] }, on: [output], on_match: mask }';

  test.each([false, true])('keeps it JSON (stream: %p)', async (stream) => {
    const box = await boxWith(MASK);
    const text =
      '{ "card": 4111111111111111, "big": 12345678901234567890, "text": "a\\nbob@example.com",\n"bob@example.com": 1 }';
    upstream.next({ text: [...text] });
    const messages = [{ role: 'user', content: 'Go.' }];
    const body = { model: 'best', messages, response_format: { type: 'json_object' }, stream };
    const shown = await (await box.post('/v1/chat/completions', body)).text();
    const chunks = stream ? [...shown.matchAll(/^data: (\{.*)$/gm)].map(([, one]) => one!) : [shown];
    const answer = chunks
      .map((one) => JSON.parse(one).choices?.[0])
      .map((choice) => (choice?.delta ?? choice?.message)?.content ?? '')
      .join('');
    const masked = answer.replaceAll(/\[([a-z]+):[a-p]{12}\]/g, '[$1]');
    expect(JSON.parse(masked)).toMatchObject({ card: '[card]', text: 'a\n[email]', '[email]': 1 });
    expect(masked).toContain('"big": 12345678901234567890');
  });
});

describe('arguments of a call with two members of the same name', () => {
  const SECRET = 'ghp_aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5';
  const GUARD = '  - { name: no-secrets, guard: secrets, on: [output], on_match: block }';

  test.each([false, true])('show no value that no guard has inspected (stream: %p)', async (stream) => {
    const box = await boxWith(GUARD);
    const tools = [{ type: 'function', function: { name: 'run', parameters: { type: 'object' } } }];
    const ask = async (args: string) => {
      upstream.next({ toolCalls: [{ name: 'run', arguments: args }] });
      const body = { model: 'best', messages: [{ role: 'user', content: 'Go.' }], tools, stream };
      const shown = await (await box.post('/v1/chat/completions', body)).text();
      const pieces = [...shown.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) => piece);
      return pieces.join('') || shown;
    };
    const first = await ask(`{"key": "${SECRET}", "key": "none"}`);
    expect(first).not.toContain('ghp_');
    expect(first).toContain('none');
    expect(await ask(`{"key": "none", "key": "${SECRET}"}`)).toContain('content_blocked');
  });
});

describe('`unmask`', () => {
  const masking = (unmask: string) =>
    `  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input], on_match: mask, unmask: ${unmask} }`;
  /** Answers with the placeholder that the model has received, in single letters. */
  const echo = () => {
    upstream.behave(({ body }) => {
      const placeholder = JSON.stringify(body).match(PLACEHOLDER)?.[0] ?? 'none';
      return { text: [...`You are ${placeholder}, not [email:aaaaaaaaaaaa].`] };
    });
  };

  test.each(WAYS)('puts the values of the request back into the text, and no others: %s', async (_, way) => {
    const box = await boxWith(masking('[text]'));
    echo();
    const { text } = await contentOf(way, await send(way, box, `I am ${EMAIL}.`));
    expect(text).toBe(`You are ${EMAIL}, not [email:aaaaaaaaaaaa].`);
  });

  test.each(WAYS)('is off by default: %s', async (_, way) => {
    const box = await boxWith(masking('[]'));
    echo();
    const { text } = await contentOf(way, await send(way, box, `I am ${EMAIL}.`));
    expect(text).not.toContain(EMAIL);
  });
});
