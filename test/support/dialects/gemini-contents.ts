import { isObject, type Json, listOf, textOf } from '../../../plugins/providers/json.ts';
import { refuse, refuseAt } from './gemini-options.ts';
import { PLACEHOLDERS, signatureOf } from './gemini-thoughts.ts';

interface Content {
  readonly role: unknown;
  readonly parts: readonly Json[];
}

/**
 * The rules for `contents` and `systemInstruction`. Sources: the pages function-calling, thought-signatures and
 * image-, audio- and document-understanding of ai.google.dev/gemini-api/docs; errors quoted in public issues.
 */
export function checkContents({ contents, systemInstruction }: Json, generation: number): void {
  if (listOf(contents).length === 0) refuseAt('contents', 'contents is not specified');
  const merged: Content[] = [];
  for (const [at, content] of listOf(contents).entries()) {
    const { role, parts } = Object(content);
    if (![undefined, 'user', 'model'].includes(role)) refuse('Please use a valid role: user, model.');
    checkParts(parts, `contents[${at}]`);
    const last = merged.at(-1);
    const own = listOf(parts).filter(isObject);
    // A client may return an answer in as many contents as the answer had chunks.
    if (last !== undefined && last.role === role) {
      merged[merged.length - 1] = { role, parts: [...last.parts, ...own] };
    } else merged.push({ role, parts: own });
  }
  if (systemInstruction !== undefined) {
    const { parts } = Object(systemInstruction);
    checkParts(parts, 'system_instruction');
    if (listOf(parts).some((part) => typeof Object(part).text !== 'string')) {
      refuse('System instruction parts must be text.');
    }
  }
  checkCalls(merged, generation);
  // Gemini 4 accepts only a conversation that ends with the user.
  if (generation >= 4 && merged.at(-1)?.role === 'model') {
    refuse('Please ensure that multiturn requests end with a user role or a function response.');
  }
}

/** A part has exactly one of these members. */
const DATA =
  'text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse';

function checkParts(parts: unknown, path: string): void {
  if (listOf(parts).length === 0) refuseAt(`${path}.parts`, 'contents.parts must not be empty.');
  for (const [at, part] of listOf(parts).entries()) {
    const own = DATA.split(' ').filter((name) => Object(part)[name] !== undefined);
    if (own.length === 0) {
      refuseAt(`${path}.parts[${at}].data`, "required oneof field 'data' must have one initialized field");
    }
    if (own.length > 1) {
      refuse(
        `Invalid value at '${path}.parts[${at}]' (oneof), oneof field 'data' is already set. Cannot set '${own[1]}'`,
      );
    }
    checkPart(Object(part), `${path}.parts[${at}]`);
  }
}

function checkPart(
  { text, inlineData, fileData, functionCall, functionResponse, thoughtSignature }: Json,
  path: string,
) {
  if (text !== undefined && typeof text !== 'string') refuse(`Invalid value at '${path}.text' (TYPE_STRING), ${text}`);
  if (inlineData !== undefined) {
    const { mimeType, data } = Object(inlineData);
    if (!MEDIA.test(textOf(mimeType))) refuse(`Unsupported MIME type: ${mimeType}`);
    if (!BASE64.test(textOf(data))) {
      refuse(`Invalid value at '${path}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for "${data}"`);
    }
  }
  if (fileData !== undefined && !/^https:\/\//.test(textOf(Object(fileData).fileUri))) {
    refuse('Invalid or unsupported file uri.');
  }
  const struct = '(type.googleapis.com/google.protobuf.Struct)';
  if (functionCall !== undefined) {
    const { name, args = {} } = Object(functionCall);
    if (textOf(name) === '') refuseAt(`${path}.function_call.name`, 'Name cannot be empty.');
    if (!isObject(args)) refuse(`Invalid value at '${path}.function_call.args' ${struct}, ${JSON.stringify(args)}`);
  }
  if (functionResponse !== undefined) {
    const { name, response } = Object(functionResponse);
    if (textOf(name) === '') refuseAt(`${path}.function_response.name`, 'Name cannot be empty.');
    if (!isObject(response)) {
      refuse(`Invalid value at '${path}.function_response.response' ${struct}, ${JSON.stringify(response)}`);
    }
  }
  if (thoughtSignature === undefined || PLACEHOLDERS.includes(textOf(thoughtSignature))) return;
  if (!BASE64.test(textOf(thoughtSignature))) {
    refuse(`Invalid value at '${path}.thought_signature' (TYPE_BYTES), Base64 decoding failed`);
  }
  if (thoughtSignature !== signatureOf(isObject(functionCall) ? functionCall : undefined))
    refuse('Corrupted thought signature.');
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const MEDIA =
  /^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/(?:wav|mp3|mpeg|aiff|aac|ogg|flac|m4a|mp4|webm|opus|pcm)|video\/[\w.+-]+|application\/pdf|text\/[\w.+-]+)$/;

/** A turn with calls must be followed by a turn with as many results of the same names, and must have its signature. */
function checkCalls(contents: readonly Content[], generation: number): void {
  // The API requires signatures only since the user's latest message.
  const spoken = contents.findLastIndex(
    ({ role, parts }) => role !== 'model' && of(parts, 'functionResponse').length === 0,
  );
  for (const [at, { parts }] of contents.entries()) {
    const calls = of(parts, 'functionCall');
    const answers = of(contents[at + 1]?.parts ?? [], 'functionResponse');
    if (of(parts, 'functionResponse').length > 0 && of(contents[at - 1]?.parts ?? [], 'functionCall').length === 0) {
      refuse('Please ensure that function response turn comes immediately after a function call turn.');
    }
    if (calls.length === 0) continue;
    if (contents[at - 1]?.role === undefined && at === 0) {
      refuse(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    }
    if (calls.length !== answers.length) {
      refuse(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
    }
    checkAnswers(calls, answers);
    const first = parts.find(({ functionCall }) => functionCall !== undefined);
    if (generation >= 3 && at > spoken && first?.thoughtSignature === undefined) {
      refuse(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${calls[0]?.name}\` , position ${at + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
      );
    }
  }
}

function checkAnswers(calls: readonly Json[], answers: readonly Json[]): void {
  for (const { id, name } of answers) {
    const call = calls.find((each) => (id === undefined ? each.name === name : each.id === id));
    if (call?.name !== name) refuse(`Function response of ${name} (id ${id}) does not match any function call.`);
  }
}

function of(parts: readonly Json[], member: 'functionCall' | 'functionResponse'): readonly Json[] {
  return parts.map((part) => part[member]).filter(isObject);
}
