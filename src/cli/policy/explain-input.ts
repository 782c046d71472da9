import { Type } from '@sinclair/typebox';
import { SENDER } from '../../admin/policy-explain.ts';
import { RouteQuery } from '../../core/api/route-query.ts';
import { decode, type ValueOf } from '../../core/define/field.ts';
import * as f from '../../core/define/fields.ts';
import { SignalboxError } from '../../core/errors.ts';
import { compileCheck } from '../../core/schema/validation.ts';
import { UsageError } from '../../core/usage-error.ts';
import { SWITCH } from '../arguments.ts';
import { inputIn, parseOwnFlags, refusalOf } from '../flag-values.ts';
import { type CommandInput, describedFlags, flagsOf, shownName, usageWord } from '../operation-flags.ts';

const { model, task_type, estimated_input_tokens, estimated_output_tokens, metadata, route_strategy } =
  RouteQuery.properties;

/** The fields of a request that have flags. A file can state the other fields. */
const StatedRequest = Type.Object({
  model: f.inCommand(model, { form: 'MODEL' }),
  task_type: f.inCommand(task_type, { flag: 'task', form: 'TASK' }),
  messages: Type.Optional(
    f.inCommand(f.list(Type.Object({}), 'A message of the user. If you repeat it, the request has several messages.'), {
      flag: 'message',
      form: 'TEXT',
      read: (content) => ({ role: 'user', content }),
    }),
  ),
  estimated_input_tokens: f.inCommand(estimated_input_tokens, { flag: 'input-tokens' }),
  estimated_output_tokens: f.inCommand(estimated_output_tokens, { flag: 'output-tokens' }),
  route_strategy,
  metadata,
});

const ExplainInput = f.closed('A request to explain, or what names it.', {
  request: Type.Optional(StatedRequest),
  labels: Type.Optional(f.mapOf(Type.String(), 'A label of the key. Labels of a key named by --key are kept.')),
  ...SENDER,
  key_models: Type.Optional(
    f.inCommand(f.textList('The IDs of the models that the key may use, separated by commas.'), {
      ...{ flag: 'key-models', form: 'ID,ID', hasCommas: true },
    }),
  ),
  case: Type.Optional(f.inCommand(f.text('Explains the request of a case of the policy.'), { form: 'NAME' })),
  here: Type.Optional(
    Type.Boolean({ default: false, description: 'With --case: uses only the variables that are set here.' }),
  ),
  decision: Type.Optional(f.inCommand(f.text('Repeats a recorded decision.'), { form: 'ID' })),
  url: Type.Optional(
    f.inCommand(
      f.text(
        'Sends the request to a running server, which uses its own policy, measurements and keys. Set the variable SIGNALBOX_KEY to an API key for that server.',
      ),
      { form: 'URL' },
    ),
  ),
});

const INPUT: CommandInput = { input: ExplainInput, method: 'POST' };
const FLAGS = [...flagsOf(ExplainInput)];
const check = compileCheck(ExplainInput);

/** The flags of the command for its usage, and their descriptions. */
export const EXPLAIN_USAGE = FLAGS.map((flag) => usageWord(INPUT, flag));
export const EXPLAIN_DETAILS = describedFlags(INPUT, FLAGS);

/** The command line of `policy explain`. */
export interface ExplainLine {
  readonly input: ValueOf<typeof ExplainInput>;
  readonly isJson: boolean;
  /** The flags that are set, such as `--key`, without `--json`. */
  readonly flags: readonly string[];
  /** The arguments between the flags. */
  readonly words: readonly string[];
}

/** Reads the flags and arguments of `policy explain`. Throws UsageError. */
export function readExplainLine(args: readonly string[]): ExplainLine {
  const { values, positionals } = parseOwnFlags(INPUT, FLAGS, args, { json: SWITCH });
  try {
    const input = inputIn(INPUT, FLAGS, values, []);
    check(input);
    return {
      // The schema was checked.
      input: decode(ExplainInput, input, null) as ValueOf<typeof ExplainInput>,
      isJson: values.json,
      flags: FLAGS.filter(({ name }) => values[name] !== undefined && values[name] !== false).map(shownName),
      words: positionals,
    };
  } catch (cause) {
    throw cause instanceof SignalboxError ? refusalOf(cause, FLAGS) : cause;
  }
}

/** Refuses flags that would change the request of a case or of a record. Throws UsageError. */
export function refuseOthers({ flags }: ExplainLine, allowed: readonly string[], file?: string): void {
  const extra = flags.find((flag) => !allowed.includes(flag)) ?? file;
  if (extra !== undefined) throw new UsageError(`${allowed[0]} states the whole request. Remove ${extra}.`);
}
