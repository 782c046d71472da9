import { isObject, type Json, listOf } from '../../../plugins/providers/json.ts';
import { errorBody } from '../openai-wire.ts';
import { Refusal } from './dialect.ts';

/** Refuses a request as OpenAI does: with the location of the mistake and often a code. */
export function refuse(message: string, param: string | null = null, code: string | null = null): never {
  const { error } = errorBody(message, 'invalid_request_error', code);
  throw new Refusal(message, { status: 400, body: { error: { ...error, param } } });
}

/** Returns the members of an object; refuses members that the API does not know. */
export function membersOf(value: unknown, path: string, known: string): Json {
  if (!isObject(value)) refuse(`Invalid type for '${path}': expected an object.`, path, 'invalid_type');
  const extra = Object.keys(value).find((name) => !known.split(' ').includes(name));
  const param = path === '' ? extra : `${path}.${extra}`;
  if (extra !== undefined) refuse(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');
  return value;
}

export function textAt(owner: Json, name: string, path: string): string {
  const param = `${path}.${name}`;
  const value = owner[name];
  if (value === undefined) refuse(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
  if (typeof value !== 'string') refuse(`Invalid type for '${param}': expected a string.`, param, 'invalid_type');
  return value;
}

/**
 * The reasoning efforts that models accept, as reported in openai/openai-openapi#541, BerriAI/litellm#34569, BerriAI/litellm-docs#1173 and
 * enricoros/big-AGI#1159. Null for models without a known rule.
 */
function effortsOf(model: string): readonly string[] | null {
  if (/^gpt-6-astra/.test(model)) return ['low', 'medium', 'high', 'xhigh', 'max'];
  if (/^gpt-(?:5\.[6-9]|6)/.test(model)) return ['none', 'low', 'medium', 'high', 'xhigh', 'max'];
  return /^gpt-5\.[45]/.test(model) ? ['none', 'low', 'medium', 'high', 'xhigh'] : null;
}

export function checkEffort(model: string, effort: unknown, param: string, isChat: boolean): void {
  const efforts = effortsOf(model)?.filter((one) => one !== 'max' || !isChat);
  if (effort == null || !efforts || efforts.includes(String(effort))) return;
  const words = efforts.map((one) => `'${one}'`).join(', ');
  refuse(
    `Unsupported value: '${effort}' is not supported with the '${model}' model. Supported values are: ${words}.`,
    param,
    'unsupported_value',
  );
}

/** In chat completions, none of these models can reason in a request with tools, whether or not the request sets an effort. */
export function checkChat(body: Json): void {
  const { reasoning_effort: effort } = body;
  const model = String(body.model);
  checkEffort(model, effort, 'reasoning_effort', true);
  if (!effortsOf(model) || listOf(body.tools).length === 0 || effort === 'none') return;
  refuse(
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
    'reasoning_effort',
  );
}

/** Only models that do not reason accept temperature and similar parameters. */
export function checkSampling(body: Json): void {
  const model = String(body.model);
  for (const name of ['temperature', 'top_p']) {
    if (body[name] == null || !effortsOf(model)) continue;
    refuse(`Unsupported parameter: '${name}' is not supported with this model.`, name, 'unsupported_parameter');
  }
}
