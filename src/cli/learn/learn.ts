import { UsageError } from '../../core/usage-error.ts';
import { resetLearning } from '../../learning/outcomes.ts';
import { learningPolicy } from '../../operate/learning/policy.ts';
import { openStore } from '../../store/open.ts';
import { parseFlags } from '../options.ts';
import { type LearnCommand, reading } from './command.ts';
import { learnExport } from './export.ts';
import { learnReplay } from './replay.ts';
import { learnStatus } from './status.ts';

/** `signalbox learn status|reset|export|replay`. Throws UsageError, or an Error of one clear sentence. */
export async function runLearn(args: readonly string[], command: LearnCommand): Promise<void> {
  const [name, ...rest] = args;
  if (name === 'status') return learnStatus(rest, command);
  if (name === 'reset') return reset(rest, command);
  if (name === 'export') return learnExport(rest, command);
  if (name === 'replay') return learnReplay(rest, command);
  throw new UsageError('learn takes status, reset, export or replay. See signalbox help.');
}

async function reset(args: readonly string[], command: LearnCommand): Promise<void> {
  const options = { model: { type: 'string' }, yes: { type: 'boolean' } } as const;
  const { model = null, yes } = parseFlags(args, options);
  await reading(command, async (reader) => {
    if (model === null || (await reader.learning.outcomes.models()).includes(model)) return;
    const { snapshot } = await learningPolicy(command.folder, command.judge, reader);
    if (snapshot.modelIndex.has(model)) return;
    throw new UsageError(`No model is called \`${model}\`; signalbox learn status shows those that were learnt of.`);
  });
  const what = model === null ? 'all that was learnt' : `what was learnt of ${model}`;
  if (!yes) throw new UsageError(`This has ${what} forgotten, and nothing brings it back: say so with --yes.`);
  const store = await openStore(command.file, { mode: 'beside', rooms: ['learning'] });
  try {
    await resetLearning(store, model, command.now());
  } finally {
    await store.close();
  }
  await command.write(
    `Forgot ${what}. A running server does so within a second; what is declared holds, and outcomes from now on.\n`,
  );
}
