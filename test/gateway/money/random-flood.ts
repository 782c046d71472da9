import type { Signalbox } from '../../support/signalbox.ts';
import { closedBooks, grant } from './books.ts';
import { send } from './flood.ts';
import { capOf, type Gate, type GateAnswers } from './gate.ts';
import { makeKeys } from './keys.ts';

const REQUESTS = 120;

export interface RandomFlood {
  readonly box: Signalbox;
  readonly gate: Gate;
  readonly answers: GateAnswers;
  readonly random: () => number;
  /** The label of the keys, which no other key has. */
  readonly team: string;
}

export interface FloodOutcome {
  /** The statuses of the answers that arrived. Callers who disconnected have none. */
  readonly statuses: readonly number[];
  /** The total of microcredits by which funds spent more than their limits. */
  readonly overspent: number;
  /** The faults in the journal or in the answers. */
  readonly faults: readonly string[];
}

/** Sends requests of random cost on random funds. Some requests fail and some callers disconnect; the upstream may report any usage. */
export async function floodAtRandom({ box, gate, answers, random, team }: RandomFlood): Promise<FloodOutcome> {
  const below = (n: number) => Math.floor(random() * n);
  const keys = await makeKeys(
    box,
    Array.from(
      { length: 1 + below(5) },
      (): Record<string, string> => (random() < 0.4 ? { team, lane: `${team}-${below(2)}` } : { team }),
    ),
  );
  for (const { id } of keys) if (random() < 0.3) await grant(box.data, id, 100_000 + below(3_000_000));
  answers.usageOf = (request) => {
    // Usually within the amount that was set aside, sometimes far above it.
    const [prompt, completion] = random() < 0.9 ? [below(43), below(capOf(request) + 1)] : [below(9_000), below(9_000)];
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  };
  answers.fails = () => random() < 0.1;
  gate.close();
  const faults: string[] = [];
  let answered = 0;
  const sent = Array.from({ length: REQUESTS }, async () => {
    const limit = random() < 0.3 ? 0.1 + below(500) / 1_000 : undefined;
    const body = {
      model: random() < 0.7 ? 'm' : 'auto',
      messages: [{ role: 'user', content: 'Say hello.' }],
      stream: random() < 0.5,
      max_tokens: 1 + below(200),
      ...(limit !== undefined && { budget_limit: limit }),
    };
    const key = keys[below(keys.length)]!.key;
    const answer = await send(box.url, key, body, random() < 0.1 ? below(60) : undefined);
    answered++;
    const credits = answer?.body.platform?.credits_consumed ?? 0;
    if (limit !== undefined && credits > limit) faults.push(`${credits} Credits with a budget_limit of ${limit}`);
    return answer;
  });
  const all = Promise.all(sent);
  while (answered < REQUESTS) {
    gate.release(below(6));
    await Bun.sleep(below(6));
  }
  gate.open();
  const statuses = (await all).flatMap((answer) => (answer ? [answer.status] : []));
  delete answers.fails;
  const books = await closedBooks(box.data);
  for (const [id, { closings }] of books.reservations) {
    if (closings !== 1) faults.push(`reservation ${id} was closed ${closings} times`);
  }
  const overspent = books.funds.reduce((sum, { spent, limit }) => sum + Math.max(0, spent - limit), 0);
  return { statuses, overspent, faults: [...faults, ...books.faults] };
}
