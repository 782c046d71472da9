import { isObject, type Json, listOf, textOf } from '../../../plugins/providers/json.ts';
import { Refusal } from './dialect.ts';
import { unknownNames } from './gemini-shape.ts';

/** Refuses a request as Google does. */
export function refuse(message: string, fields: Json = {}): never {
  throw new Refusal(message, { status: 400, body: { message, ...fields } });
}

/** Refuses a request with the location in Google's form: `* GenerateContentRequest.contents: …`. */
export function refuseAt(path: string, what: string): never {
  return refuse(`* GenerateContentRequest.${path}: ${what}\n`);
}

/** Google's parser runs first and refuses every unknown name. */
export function checkNames(body: Json): void {
  const violations = unknownNames(body).map(({ name, at }) => {
    const description = `Invalid JSON payload received. Unknown name "${name}"${at === '' ? '' : ` at '${at}'`}: Cannot find field.`;
    return { ...(at === '' ? {} : { field: at }), description };
  });
  if (violations.length === 0) return;
  refuse(violations.map(({ description }) => description).join('\n'), {
    details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }],
  });
}

/**
 * Checks all members of a request except its contents. Sources: the descriptions in dist/genai.d.ts of @google/genai 2.32.0; the pages
 * gemini-3, thinking and whats-new of ai.google.dev/gemini-api/docs (rules of each generation); errors quoted in public issues.
 */
export function checkConfig({ generationConfig, tools, toolConfig }: Json, generation: number): void {
  const config = Object(generationConfig);
  const names = checkTools(tools);
  checkToolConfig(toolConfig, names);
  checkSampling(config, generation);
  checkThinking(config.thinkingConfig, generation);
  const { responseMimeType: type, responseSchema, responseJsonSchema, responseLogprobs, logprobs } = config;
  const at = 'generation_config.response_mime_type';
  if (![undefined, 'text/plain', 'application/json', 'text/x.enum'].includes(type)) {
    refuseAt(at, 'allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml`.');
  }
  const isJson = type === 'application/json';
  if ((responseSchema !== undefined || responseJsonSchema !== undefined) && !isJson && type !== 'text/x.enum') {
    refuseAt('generation_config.response_schema', "requires response_mime_type of 'application/json'");
  }
  if (responseSchema !== undefined && responseJsonSchema !== undefined) {
    refuseAt('generation_config', 'only one of response_schema and response_json_schema can be set');
  }
  if (responseSchema !== undefined) checkSchema(responseSchema, 'generation_config.response_schema');
  if (isJson && names.length > 0 && generation < 3) {
    refuse("Function calling with a response mime type: 'application/json' is unsupported");
  }
  if (logprobs !== undefined && responseLogprobs !== true) {
    refuseAt('generation_config.logprobs', 'response_logprobs must be true');
  }
}

function checkSampling(config: Json, generation: number): void {
  const { temperature, topP, maxOutputTokens: max, stopSequences: stops, seed, candidateCount: count = 1 } = config;
  const inside = (value: unknown, most: number) => typeof value === 'number' && value >= 0 && value <= most;
  if (temperature !== undefined && !inside(temperature, 2)) {
    refuseAt('generation_config.temperature', 'must be in the range [0.0, 2.0].');
  }
  if (topP !== undefined && !inside(topP, 1)) refuseAt('generation_config.top_p', 'must be in the range [0.0, 1.0].');
  if (max !== undefined && (!Number.isInteger(max) || Number(max) < 1)) {
    refuseAt('generation_config.max_output_tokens', 'must be positive.');
  }
  if (listOf(stops).length > 5) refuseAt('generation_config.stop_sequences', 'at most 5 are allowed.');
  if (seed !== undefined && (!Number.isInteger(seed) || Math.abs(Number(seed)) > 2 ** 31)) {
    refuse(`Invalid value at 'generation_config.seed' (TYPE_INT32), ${JSON.stringify(seed)}`);
  }
  if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > 8) {
    refuseAt('generation_config.candidate_count', 'must be in the range [1, 8].');
  }
  if (Number(count) > 1 && generation >= 3) refuse('Multiple candidates is not enabled for this model');
  // Gemini 2.5 (according to @ai-sdk/google) and Gemini 4 refuse penalties.
  const isPenalized = config.presencePenalty !== undefined || config.frequencyPenalty !== undefined;
  if (isPenalized && (generation === 2.5 || generation >= 4)) refuse('Penalty is not enabled for this model');
}

const LEVELS = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'];

function checkThinking(value: unknown, generation: number): void {
  const { thinkingBudget: budget, thinkingLevel: level } = Object(value);
  if (budget !== undefined && level !== undefined) {
    refuse('You can only set only one of thinking budget and thinking level.');
  }
  if (level !== undefined) {
    if (!LEVELS.includes(textOf(level).toUpperCase())) {
      refuse(
        `Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/…ThinkingLevel), "${level}"`,
      );
    }
    if (generation < 3) refuse('Thinking level is not supported for this model.');
    if (textOf(level).toUpperCase() === 'MINIMAL' && generation >= 3.8) {
      refuse('Thinking level MINIMAL is not supported for this model.');
    }
  }
  if (budget === undefined) return;
  if (generation >= 4) refuse('Thinking budget is not supported for this model.');
  if (!Number.isInteger(budget) || budget < -1 || budget > 32_768) {
    refuse(`The thinking budget ${budget} is invalid. Please choose a value between 512 and 24576.`);
  }
}

/** Checks the tools. Returns the names of the functions. */
function checkTools(tools: unknown): readonly string[] {
  const names = listOf(tools).flatMap((tool, at) =>
    listOf(Object(tool).functionDeclarations).map((declaration, index) => {
      const path = `tools[${at}].function_declarations[${index}]`;
      const { name, parameters, parametersJsonSchema } = Object(declaration);
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(textOf(name))) {
        refuseAt(
          `${path}.name`,
          'Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.',
        );
      }
      if (parameters !== undefined && parametersJsonSchema !== undefined) {
        refuseAt(path, 'only one of parameters and parameters_json_schema can be set');
      }
      if (parameters !== undefined) checkSchema(parameters, `${path}.parameters`);
      if (![undefined, 'object'].includes(Object(parametersJsonSchema).type)) {
        refuseAt(`${path}.parameters_json_schema`, 'must describe an object');
      }
      return textOf(name);
    }),
  );
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) refuse(`Duplicate function declaration found: ${twice}`);
  return names;
}

function checkToolConfig(toolConfig: unknown, names: readonly string[]): void {
  const { functionCallingConfig: config } = Object(toolConfig);
  if (config === undefined) return;
  if (names.length === 0) refuse('Function calling config is set without function_declarations.');
  const { mode, allowedFunctionNames: allowed } = config;
  if (!['AUTO', 'ANY', 'NONE', 'VALIDATED'].includes(mode)) {
    refuse(`Invalid value at 'tool_config.function_calling_config.mode' (type.googleapis.com/…Mode), "${mode}"`);
  }
  if (allowed === undefined) return;
  if (mode !== 'ANY' && mode !== 'VALIDATED') {
    refuse('Please set allowed_function_names only when function calling mode is ANY.');
  }
  const stranger = listOf(allowed).find((name) => !names.includes(textOf(name)));
  if (stranger !== undefined) refuse(`allowed_function_names: "${stranger}" is not a declared function.`);
}

const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'];

/** Checks Google's own schema format, which has fewer keywords than JSON Schema. */
function checkSchema(value: unknown, path: string): void {
  if (!isObject(value)) refuse(`Invalid value at '${path}'`);
  const { anyOf, items, properties, required } = value;
  if (Array.isArray(value.type)) {
    refuse(
      `Invalid JSON payload received. Unknown name "type" at '${path}': Proto field is not repeating, cannot start list.`,
    );
  }
  const type = textOf(value.type).toUpperCase();
  if (type === '' && anyOf === undefined) {
    refuseAt(`${path}.type`, 'must be specified when not using one_of, any_of or all_of fields');
  }
  if (type !== '' && !TYPES.includes(type)) refuse(`Invalid value at '${path}.type', "${value.type}"`);
  if (value.enum !== undefined && type !== 'STRING') refuseAt(`${path}.enum`, 'only allowed for STRING type');
  for (const [at, each] of listOf(value.enum).entries()) {
    if (typeof each !== 'string') refuse(`Invalid value at '${path}.enum[${at}]' (TYPE_STRING), ${each}`);
    if (each === '') refuseAt(`${path}.enum[${at}]`, 'cannot be empty');
  }
  if (type === 'STRING' && value.format !== undefined && !['enum', 'date-time'].includes(textOf(value.format))) {
    refuseAt(`${path}.format`, "only 'enum' and 'date-time' are supported for STRING type");
  }
  if (type === 'ARRAY' && items === undefined) refuseAt(`${path}.items`, 'missing field.');
  if (type !== 'ARRAY' && items !== undefined) refuseAt(`${path}.items`, 'field predicate failed: $type == Type.ARRAY');
  const named = Object.entries(Object(properties));
  if (type === 'OBJECT' && named.length === 0) refuseAt(`${path}.properties`, 'should be non-empty for OBJECT type');
  for (const [at, name] of listOf(required).entries()) {
    if (!named.some(([known]) => known === name)) refuseAt(`${path}.required[${at}]`, 'property is not defined');
  }
  for (const [name, schema] of named) checkSchema(schema, `${path}.properties[${name}]`);
  if (items !== undefined) checkSchema(items, `${path}.items`);
  for (const [at, schema] of listOf(anyOf).entries()) checkSchema(schema, `${path}.any_of[${at}]`);
}
