import { iso } from '../../core/clock.ts';
import { type Judgements, verdict } from '../../operate/learning/judgements.ts';
import { type LearningReplay, replayLearning, rewriteLearning } from '../../operate/learning/replay.ts';
import { parseFlags, SWITCH } from '../arguments.ts';
import { grid, paragraphs } from '../terminal.ts';
import { count, jsonText, minute } from '../text.ts';
import { operator } from '../user.ts';
import { type LearnCommand, reading } from './command.ts';

/** `signalbox learn replay`: beside a running server; with --write without one. Throws UsageError. */
export async function learnReplay(args: readonly string[], command: LearnCommand): Promise<string> {
  const { json, write } = parseFlags(args, { json: SWITCH, write: SWITCH });
  const { folder, judge, database } = command;
  // Reports first why the database cannot be read.
  const read = await reading(command, (reader) => (write ? null : replayLearning(folder, judge, reader)));
  const result = read ?? (await rewriteLearning(operator(), folder, judge, database));
  return json ? asJson(result, write) : asText(result, write, command.terminal);
}

const REPLACED =
  'The result replaces the learning data, including what earlier outcomes taught. The server uses it from its next start.';

function asText(result: LearningReplay, isWritten: boolean, terminal: boolean): string {
  const { policy, replay, judged, since, wordless, faults } = result;
  const { mode, estimator } = policy.snapshot.learning;
  const gone =
    wordless > 0
      ? ` ${count(wordless, 'outcome')} had no words to learn from: Signalbox keeps the words of a question only while its answer can be scored.`
      : '';
  const kept = since === null ? '' : ` since ${minute(since)} UTC`;
  const head = `Learned again from ${count(replay.outcomes, 'outcome')}${kept} with the estimator ${estimator}.${gone}`;
  const written = isWritten ? REPLACED : 'Nothing was changed.';
  const { all } = judged;
  if (all.scores === 0) {
    const none = 'No caller has scored an answer, so learning cannot be judged. Score answers with POST /v1/feedback.';
    return paragraphs([head, none, ...faults, written], terminal);
  }
  const brier = `${count(all.scores, 'score')} of callers, each predicted before it was learned. Brier score, lower is better: declared ${all.declaredError.toFixed(4)}, estimated ${all.estimatedError.toFixed(4)}. ${verdict(all)}`;
  const on = mode === 'on' ? '' : ` The policy has \`mode: ${mode}\`.`;
  return [
    paragraphs([head, brier + on, ...faults, written], terminal),
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

/** If estimates are right, the mean score of a line equals their mean. */
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

function asJson({ policy, replay, judged, since, wordless, faults }: LearningReplay, isWritten: boolean): string {
  const { mode, estimator } = policy.snapshot.learning;
  const { all } = judged;
  return jsonText({
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
  });
}

const binBody = ({ scores, said, score }: { scores: number; said: number; score: number }) => ({
  scores,
  mean_said: scores > 0 ? said : null,
  mean_score: scores > 0 ? score : null,
});
