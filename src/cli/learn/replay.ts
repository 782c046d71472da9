import { iso } from '../../core/clock.ts';
import { timeOfId } from '../../core/id.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { LearningPolicyInForce } from '../../learning/learner.ts';
import { type ReplayResult, replayOutcomes } from '../../learning/outcomes.ts';
import { saveReplay } from '../../learning/save-replay.ts';
import { lockStore, openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { parseFlags } from '../options.ts';
import { grid, paragraphs } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import { count, type LearnCommand, policyFor, reading } from './command.ts';
import { Judgements, verdict } from './judged.ts';

/** What was learnt anew, and how well it would have done. */
interface Rehearsal {
  readonly policy: LearningPolicyInForce;
  readonly replay: ReplayResult;
  readonly judged: Judgements;
  /** When the first of the outcomes came, ms since 1970; null for none. */
  readonly since: number | null;
  /** Outcomes that were learnt without the words of their question. */
  readonly wordless: number;
  /** What the estimator did wrong, once of each kind. */
  readonly faults: readonly string[];
}

/** `signalbox learn replay`: beside a running server; with --write without one. Throws UsageError. */
export async function learnReplay(args: readonly string[], command: LearnCommand): Promise<void> {
  const options = { json: { type: 'boolean' }, write: { type: 'boolean' } } as const;
  const { json, write = false } = parseFlags(args, options);
  const rehearsal = write ? await rewrite(command) : await reading(command, (reader) => rehearse(command, reader));
  await command.write(json ? asJson(rehearsal, write) : asText(rehearsal, write, command.terminal));
}

/** Under the lock of the folder: a server keeps in memory what this replaces, and would write it over. */
async function rewrite(command: LearnCommand): Promise<Rehearsal> {
  // Says first what is wrong with the database.
  await reading(command, async () => {});
  const lock = lockFor(command.file);
  try {
    const store = await openStore(command.file, { mode: 'repair', rooms: ['learning'] });
    try {
      const rehearsal = await rehearse(command, store);
      await saveReplay(store, rehearsal.replay);
      return rehearsal;
    } finally {
      await store.close();
    }
  } finally {
    lock.release();
  }
}

function lockFor(file: string) {
  try {
    return lockStore(file);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${why} learn replay --write replaces what a server keeps in memory: stop it first.`);
  }
}

async function rehearse(command: LearnCommand, store: Pick<Store, 'query'>): Promise<Rehearsal> {
  const policy = await policyFor(command, store);
  const judged = new Judgements();
  const faults = new Set<string>();
  let wordless = 0;
  let since: number | null = null;
  const replay = await replayOutcomes(store, policy, {
    onFault: (estimator, where, error) =>
      faults.add(`The estimator ${estimator} failed (${where}): ${error instanceof Error ? error.message : error}.`),
    onOutcome: (row, estimated) => {
      since ??= timeOfId(row.id);
      if (row.features === null) wordless++;
      if (row.source === 'caller') judged.note(row, estimated);
    },
  });
  return { policy, replay, judged, since, wordless, faults: [...faults] };
}

function asText(rehearsal: Rehearsal, isWritten: boolean, terminal: boolean): string {
  const { policy, replay, judged, since, wordless, faults } = rehearsal;
  const { mode, estimator } = policy.snapshot.learning;
  const gone =
    wordless > 0
      ? ` ${count(wordless, 'outcome')} had no words to learn from: questions are kept for as long as they can be scored, as the estimator of then read them.`
      : '';
  const kept = since === null ? '' : ` since ${minute(since)} UTC`;
  const head = `Learnt anew from ${count(replay.outcomes, 'outcome')}${kept} with the estimator ${estimator}.${gone}`;
  const written = isWritten
    ? [
        'It is what is remembered from now on, and nothing else: what earlier outcomes taught is gone. The next start goes by it.',
      ]
    : ['Nothing was changed.'];
  const { all } = judged;
  if (all.scores === 0) {
    const none = 'No caller has scored an answer, so nothing can be judged. Score answers by POST /v1/feedback.';
    return paragraphs([head, none, ...faults, ...written], terminal);
  }
  const brier = `${count(all.scores, 'score')} of callers, each judged before it was learnt. Brier score, lower is better: declared alone ${all.declaredError.toFixed(4)}, estimated ${all.estimatedError.toFixed(4)}. ${verdict(all)}`;
  const on = mode === 'on' ? '' : ` The policy has \`mode: ${mode}\`.`;
  return [
    paragraphs([head, brier + on, ...faults, ...written], terminal),
    judgedTable(judged, terminal),
    binsTable(judged, terminal),
  ].join('\n');
}

function judgedTable({ models }: Judgements, terminal: boolean): string {
  const head = ['model', 'scores', 'mean score', 'declared', 'estimated', 'Brier declared', 'Brier estimated'];
  const rows = models.map(([model, one]) => [
    model,
    one.scores.toLocaleString('en'),
    ...[one.score, one.declared, one.estimated].map((value) => value.toFixed(3)),
    ...[one.declaredError, one.estimatedError].map((value) => value.toFixed(4)),
  ]);
  return `${grid([head, ...rows], terminal, (column) => column > 0).join('\n')}\n`;
}

/** Where figures are right, the mean score of a line is the mean of what was said. */
function binsTable({ bins }: Judgements, terminal: boolean): string {
  const head = ['said', 'scores', 'declared', 'mean score', 'scores', 'estimated', 'mean score'];
  const rows = bins.map(({ from, to, declared, estimated }) => [
    `${from.toFixed(1)}–${to.toFixed(1)}`,
    ...[declared, estimated].flatMap(({ scores, said, score }) =>
      scores === 0 ? ['0', '', ''] : [scores.toLocaleString('en'), said.toFixed(3), score.toFixed(3)],
    ),
  ]);
  return `${grid([head, ...rows], terminal, (column) => column > 0).join('\n')}\n`;
}

function asJson({ policy, replay, judged, since, wordless, faults }: Rehearsal, isWritten: boolean): string {
  const { mode, estimator } = policy.snapshot.learning;
  const { all } = judged;
  const body = {
    mode,
    estimator,
    outcomes: replay.outcomes,
    since: since === null ? null : iso(since),
    without_words: wordless,
    scores: all.scores,
    brier: all.scores > 0 ? { declared: all.declaredError, estimated: all.estimatedError } : null,
    better_by: all.scores > 0 ? { mean: all.better, standard_error: all.error } : null,
    models: judged.models.map(([model, one]) => ({
      model,
      scores: one.scores,
      mean_score: one.score,
      mean_declared: one.declared,
      mean_estimated: one.estimated,
      brier_declared: one.declaredError,
      brier_estimated: one.estimatedError,
    })),
    reliability: judged.bins.map(({ from, to, declared, estimated }) => ({
      from,
      to,
      declared: binBody(declared),
      estimated: binBody(estimated),
    })),
    faults,
    written: isWritten,
  };
  return jsonText(body);
}

const binBody = ({ scores, said, score }: { scores: number; said: number; score: number }) => ({
  scores,
  mean_said: scores > 0 ? said : null,
  mean_score: scores > 0 ? score : null,
});
