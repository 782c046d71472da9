import { describe, expect, test } from 'bun:test';
import { isDeep } from '../../deep/effort.ts';
import { guardedPolicy } from '../../gateway/guards/support.ts';
import { expectError } from '../../support/error-contract.ts';
import { leastOf } from '../../support/in-time.ts';
import { longestTurn, TURN_ENV } from '../../support/longest-turn.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Guards that inspect long texts, while a server process has other requests. */

const upstream = useUpstream();

/** The goal for the CPU time of a turn of a server process is 50 ms; collecting memory can come on top. */
const OWN_TURN_MS = 75;

const ask = (content: string) => ({ model: 'best', messages: [{ role: 'user', content }] });
const MANY = 'a '.repeat(isDeep ? 4_900_000 : 1_000_000);
const dense = (rest: string) =>
  `  - { name: many, guard: words, settings: { deny: [a] }, deadline_ms: 60000, ${rest} }`;

describe('a match every two characters', () => {
  test('lets other requests in if one piece of a stream has them', async () => {
    const policy = guardedPolicy(upstream.url, dense('on: [output], on_match: mask'));
    const box = await startSignalbox({ isProcess: true, policy, env: { ...UPSTREAM_ENV, ...TURN_ENV } });
    try {
      const turn = async () => {
        upstream.next({ text: ['a '.repeat(30_000)] });
        await longestTurn(box);
        const response = await box.post('/v1/chat/completions', { ...ask('Hi.'), stream: true });
        expect((await response.text()).match(/\[word:[a-p]{12}\]/g)).toHaveLength(30_000);
        return longestTurn(box);
      };
      expect(await leastOf(OWN_TURN_MS, turn)).toBeLessThan(OWN_TURN_MS);
    } finally {
      await box.stop();
    }
  });

  test('lets other requests in', async () => {
    const policy = guardedPolicy(upstream.url, dense('on: [input], on_match: block'));
    const box = await startSignalbox({ isProcess: true, policy, env: { ...UPSTREAM_ENV, ...TURN_ENV } });
    try {
      const turn = async () => {
        await longestTurn(box);
        await expectError(await box.post('/v1/route', ask(MANY)), 'content_blocked', 'messages[0]');
        return longestTurn(box);
      };
      expect(await leastOf(OWN_TURN_MS, turn)).toBeLessThan(OWN_TURN_MS);
    } finally {
      await box.stop();
    }
  });
});

test('a case with a long text lets other requests in when a policy is checked and tested', async () => {
  const guard = '  - { name: pii, guard: personal-data, on: [input, output], on_match: block, deadline_ms: 60000 }';
  const text = '4111 1111 1111 1112 '.repeat(45_000);
  const given = { messages: [{ role: 'user', content: text }] };
  const cases = [{ name: 'long', given, expect: { blocked: 'pii' } }];
  const policy = guardedPolicy(upstream.url, guard);
  const files = [{ name: 'policy.yaml', text: `${policy}\ncases: ${JSON.stringify(cases)}\n` }];
  const box = await startSignalbox({ isProcess: true, policy, env: { ...UPSTREAM_ENV, ...TURN_ENV } });
  try {
    for (const path of ['/admin/policy/check', '/admin/policy/test']) {
      const turn = async () => {
        await longestTurn(box);
        expect(await (await box.post(path, { files })).text()).toContain('The prompt has about');
        return longestTurn(box);
      };
      expect(await leastOf(OWN_TURN_MS, turn)).toBeLessThan(OWN_TURN_MS);
    }
  } finally {
    await box.stop();
  }
});
