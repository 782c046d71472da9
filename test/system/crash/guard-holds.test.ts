import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { makeTestKey, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';

interface Line {
  readonly kind: string;
  readonly selector: string;
  readonly credits: number | null;
}

test.each(['charge', 'release'])(
  'kill -9 while a guard calls its model: the next start ends its hold by `on_crash: %s`, and the audit is clean',
  async (rule) => {
    const data = temporaryFolder();
    const upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: { hang: 'headers' } });
    const policy = testPolicy(
      { up: upstream.url },
      {
        best: { endpoints: ['up'], price: { input: 4, output: 16 } },
        judge: { endpoints: ['up'], price: { input: 1, output: 1 } },
      },
      `budgets: [{ name: purse, limit_credits: 100, window: total }]
ledger: { on_crash: ${rule} }
guards: [{ name: mod, guard: model, model: judge, on_match: block, deadline_ms: 60000 }]
`,
    );
    const options = { policy, data, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() } };
    const box = await startSignalbox({ ...options, isProcess: true });
    try {
      const body = { model: 'best', messages: [{ role: 'user', content: 'Hi.' }] };
      const asked = box.post('/v1/chat/completions', body).catch(() => null);
      await waitFor(() => upstream.requests.length === 1);
      box.signal('SIGKILL');
      await box.exited;
      await asked;
      const next = await startSignalbox(options);
      try {
        const { code, out } = await next.run('ledger', 'audit', '--idle');
        expect([code, out]).toEqual([0, expect.anything()]);
        const lines: readonly Line[] = JSON.parse((await next.run('ledger', 'export', '--format', 'json')).out);
        const ended = lines.filter(({ selector }) => selector === 'guard:mod');
        expect(ended.every(({ kind }) => kind === 'expire')).toBeTrue();
        const charged = ended.reduce((sum, { credits }) => sum + (credits ?? 0), 0);
        expect(charged > 0).toBe(rule === 'charge');
        // The money of the hold is free again, or spent: nothing stays held.
        upstream.behave({ text: 'safe' });
        expect((await next.post('/v1/chat/completions', body)).status).toBe(200);
      } finally {
        await next.stop();
      }
    } finally {
      await box.stop().catch(() => {});
      await upstream.stop();
      rmSync(data, { recursive: true, force: true });
    }
  },
  60_000,
);
