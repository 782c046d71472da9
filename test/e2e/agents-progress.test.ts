import { describe, expect, test } from 'bun:test';
import { CLIENTS, SESSIONS, type Session, type Step, turnsOf, type Verdict } from '../routing/sessions/sessions.ts';
import { testPolicy } from '../support/policies.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * Sessions of agents, sent turn by turn as the agents send them: a stuck session moves to the strong model and stays there. All sessions ask
 * for the same work of usual difficulty, so only their progress can change the model.
 */
const USUAL = 'Add a flag that turns colors off, with a test.';
const HARD =
  'Our lock-free queue loses items when two consumers race with a resize. Find the fault and prove that your fix is correct.';
const sessionWith = (user: string, session: Session): Session => ({
  ...session,
  steps: session.steps.map((step) => ('user' in step ? { user } : step)),
});

const upstream = useUpstream({ behaviour: { text: 'Next.' } });
const policy = (): string =>
  testPolicy(
    { one: { url: upstream.url, adapter: 'openai' } },
    {
      small: { endpoints: ['one'], price: { input: 0.2, output: 0.8 }, quality: 0.87 },
      middle: { endpoints: ['one'], price: { input: 1, output: 4 }, quality: 0.88 },
      strong: { endpoints: ['one'], price: { input: 5, output: 20 }, quality: 0.9 },
    },
  )

    .replaceAll(
      /input: ([\d.]+), output(?=: [\d.]+, as_of)/g,
      (_, price) => `input: ${price}, cached_input: ${Number(price) / 10}, output`,
    )
    .replaceAll('passthrough: [verbosity]', 'cache_ttl_s: 300, cache_min_tokens: 500');
const box = useSignalbox(() => ({ policy: policy() }));
const other = useSignalbox(() => ({ policy: policy() }));

interface Decided {
  readonly model: string;
  readonly difficulty: string;
  readonly stuck: Readonly<Record<string, number>> | null;
  readonly replays: boolean;
  readonly text: string;
}

/** Sends a turn of a session and returns the decision about it. */
async function decide(at: Signalbox, { client }: Session, steps: readonly Step[]): Promise<Decided> {
  const { path, body } = CLIENTS[client];
  const answer = await at.post(path, body(steps));
  const text = await answer.text();
  expect([answer.status, answer.status === 200 ? '' : text]).toEqual([200, '']);
  const id = answer.headers.get('x-signalbox-decision-id');
  const kept = (await (await at.get(`/v1/decisions/${id}`)).json()) as {
    choice: string;
    facts: Pick<Decided, 'difficulty' | 'stuck'>;
    replay: { matches: boolean };
    explanation: readonly string[];
  };
  const { difficulty, stuck } = kept.facts;
  return { model: kept.choice, difficulty, stuck, replays: kept.replay.matches, text: kept.explanation.join(' ') };
}

describe.each(SESSIONS.map((session) => [session.client, session.name, sessionWith(USUAL, session)] as const))(
  '%s: %s',
  (_, __, session) => {
    test('the model changes only when the agent is stuck, and every server decides alike', async () => {
      const turns = [...turnsOf(session)];
      let before: { readonly model: string; readonly verdict: Verdict | null } = { model: 'small', verdict: null };
      for (const { steps, verdict } of turns) {
        const decided = await decide(box, session, steps);
        const at = `after step ${steps.length}`;
        const isStuck = verdict === 'stuck';
        expect([at, decided.difficulty, decided.stuck !== null, decided.replays]).toEqual([
          at,
          isStuck ? 'hard' : 'usual',
          isStuck,
          true,
        ]);
        if (isStuck)
          expect([at, decided.model, decided.text]).toEqual([at, 'strong', expect.stringContaining('is stuck')]);
        else if (before.verdict === verdict) expect([at, decided.model]).toEqual([at, before.model]);
        else if (before.verdict === null) expect([at, decided.model]).toEqual([at, 'small']);
        if (before.verdict !== verdict || steps === turns.at(-1)!.steps) {
          const elsewhere = await decide(other, session, steps);
          expect([at, elsewhere.difficulty, elsewhere.stuck]).toEqual([at, decided.difficulty, decided.stuck]);
        }
        before = { model: decided.model, verdict };
      }
    });
  },
);

test('a session that asks for hard work has the strong model from its first turn to its last, stuck or not', async () => {
  const session = sessionWith(HARD, SESSIONS.find(({ client }) => client === 'codex')!);
  for (const { steps, verdict } of turnsOf(session)) {
    const { model, difficulty, stuck } = await decide(box, session, steps);
    expect([steps.length, difficulty, stuck !== null, model]).toEqual([
      steps.length,
      'hard',
      verdict === 'stuck',
      'strong',
    ]);
  }
});
