import type { Body } from '../../admin/use-cases/policy/tools.ts';
import { isObject } from '../../core/json/object.ts';
import { UsageError } from '../../core/usage-error.ts';
import { LIST, pairsOf, type parseFlags, SWITCH, TEXT } from '../arguments.ts';

/** Flags that set fields of a request's body. */
const BODY_FLAGS = {
  model: TEXT,
  task: TEXT,
  'input-tokens': TEXT,
  'output-tokens': TEXT,
  message: TEXT,
  metadata: LIST,
  'cost-weight': TEXT,
  'quality-weight': TEXT,
  'latency-weight': TEXT,
};

/** The flags of `policy explain`. */
export const EXPLAIN_FLAGS = {
  ...BODY_FLAGS,
  label: LIST,
  time: TEXT,
  key: TEXT,
  team: TEXT,
  user: TEXT,
  'key-models': TEXT,
  url: TEXT,
  case: TEXT,
  decision: TEXT,
  here: SWITCH,
  json: SWITCH,
};

/**
 * Refuses other flags that would change the request of a case or of a record. Throws UsageError.
 * @param flag the flag that names the case or the record
 * @param more other flags that are set
 */
export function refuseOthers(flag: string, more: object, file: string | undefined): void {
  const [extra] = Object.keys(more);
  if (extra || file) throw new UsageError(`${flag} states the whole request. Remove ${extra ? `--${extra}` : file}.`);
}

type BodyFlags = ReturnType<typeof parseFlags<typeof BODY_FLAGS>>;

/** Returns the body with the fields that flags set. Throws UsageError. */
export function withFlags(body: Body, flags: BodyFlags): Body {
  const fields = {
    model: flags.model,
    task_type: flags.task,
    estimated_input_tokens: numberOf('--input-tokens', flags['input-tokens']),
    estimated_output_tokens: numberOf('--output-tokens', flags['output-tokens']),
    messages: flags.message === undefined ? undefined : [{ role: 'user', content: flags.message }],
    metadata: merged(body.metadata, pairsOf(flags.metadata, '--metadata')),
    route_strategy: merged(
      body.route_strategy,
      stated({
        cost_weight: numberOf('--cost-weight', flags['cost-weight']),
        quality_weight: numberOf('--quality-weight', flags['quality-weight']),
        latency_weight: numberOf('--latency-weight', flags['latency-weight']),
      }),
    ),
  };
  return { ...body, ...stated(fields) };
}

const stated = (fields: Body): Body =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Adds keys to an object field. Returns undefined if no flag sets a key. */
function merged(field: unknown, more: Body): Body | undefined {
  if (Object.keys(more).length === 0) return undefined;
  return { ...(isObject(field) && field), ...more };
}

function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new UsageError(`${flag} must be a number, not "${text}".`);
  return value;
}
