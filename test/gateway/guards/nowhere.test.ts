import { expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, send, startGuarded, WAYS } from './support.ts';

const upstream = useUpstream();
const SECRET = 'zanzibarquartz@example.com';
const ANSWERED = 'mozambiquejasper@example.com';

const GUARDS = `  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: mask }`;
const CONTENT = 'records: { content: { redact: [] }, metadata: [note, session_id] }\n';

test('a masked value reaches no provider, record, content, log line, metric or stored answer', async () => {
  const box = await startGuarded(upstream.url, GUARDS, CONTENT);
  try {
    const calls = upstream.requests.length;
    const ids: string[] = [];
    for (const [at, [, way]] of WAYS.entries()) {
      upstream.next({ text: ['I know ', ANSWERED.slice(0, 9), ANSWERED.slice(9), ' well.'] });
      const response = await send(way, box, `I am ${SECRET}.`, { 'idempotency-key': `n-${at}` });
      ids.push(response.headers.get('x-signalbox-decision-id')!);
      const { text } = await contentOf(way, response);
      expect(text).not.toContain('@');
      const again = await send(way, box, `I am ${SECRET}.`, { 'idempotency-key': `n-${at}` });
      expect(again.headers.get('x-signalbox-replayed')).toBe('true');
      expect(await again.text()).not.toContain('@example.com');
    }
    const messages = [{ role: 'user', content: `I am ${SECRET}.` }];
    await box.post('/v1/route', { model: 'auto', messages, metadata: { note: SECRET } });
    await box.post('/v1/messages/count_tokens', { model: 'best', messages });
    const sent = JSON.stringify(upstream.requests.slice(calls).map(({ body }) => body));
    const contents = await Promise.all(
      ids.map((id) =>
        waitFor(async () => {
          const found = await box.get(`/admin/decisions/${id}/content`);
          return found.status === 200 ? await found.text() : undefined;
        }),
      ),
    );
    // The content was recorded, with the placeholders.
    for (const content of contents) expect(content.match(/\[email:[a-p]{12}\]/g)!.length).toBeGreaterThanOrEqual(2);
    const metrics = await (await box.get('/metrics')).text();
    expect(metrics).toContain('signalbox_guard_matches_total{guard="pii",side="input",action="mask",kind="email"}');
    const decisions = await (await box.get('/admin/decisions')).text();
    const shown = await box.run('decisions', 'show', ids[0]!);
    expect(shown.out).toContain('The guard pii found 1 email in the request: masked.');
    const seen = [shown.out, sent, ...contents, metrics, decisions, box.lines.join('\n')];
    for (const one of seen) for (const value of ['zanzibar', 'mozambique']) expect(one).not.toContain(value);
    expect(box.lines.some((line) => line.includes('pii/input:mask=1 pii/output:mask=1'))).toBeTrue();
  } finally {
    await box.stop();
  }
});

test('a request with a secret in the name of its session is refused, because records have the name', async () => {
  const box = await startGuarded(upstream.url, GUARDS, CONTENT);
  try {
    const body = { model: 'best', messages: [{ role: 'user', content: 'Hi.' }], metadata: { session_id: SECRET } };
    const refused = await box.post('/v1/chat/completions', body);
    expect([refused.status, (await refused.text()).includes('zanzibar')]).toEqual([400, false]);
  } finally {
    await box.stop();
  }
});
