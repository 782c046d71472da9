import { Value } from '@sinclair/typebox/value';
import { isObject } from '../../core/json/object.ts';
import { type Members, type OriginalPath, pathText } from '../../core/json/original.ts';
import { checkOffered, invalid, unsupported } from '../refusals.ts';
import { type GenerateRequest, ModelName, type Part } from './request.ts';

/**
 * Checks the dialect's rules that the schema cannot express: fields that contradict each other, and what only Google's own service has.
 * @throws SignalboxError for the field at fault
 */
export function checkGenerate(body: GenerateRequest): void {
  checkBill(body);
  body.contents.forEach(({ role, parts }, index) => {
    checkParts(parts, ['contents', index, 'parts'], role === 'model');
  });
  checkSystem(body);
  checkTools(body);
  checkConfig(body);
}

const CACHED =
  'Cached contents are not supported: they are stored at Google. Send the whole prompt; providers cache it by themselves.';

function checkBill({ cachedContent }: Members): void {
  if (cachedContent != null && cachedContent !== '') throw unsupported('cachedContent', CACHED);
}

/** Members of which each part has one. */
const KINDS = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'] as const;
/** Members that do not make a part of their own. */
const COMPANIONS: ReadonlySet<string> = new Set([
  'thought',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
]);

function checkParts(parts: readonly Part[] | undefined, at: OriginalPath, isModel: boolean): void {
  for (const [i, part] of (parts ?? []).entries()) {
    const place = [...at, i];
    const kinds = KINDS.filter((kind) => part[kind] !== undefined);
    const [kind = null, second = null] = kinds;
    if (kind === null) checkUnknown(part, place);
    else if (second !== null)
      throw invalid(
        pathText(place),
        `\`${pathText(place)}\` has both \`${kind}\` and \`${second}\`. A part has one of them.`,
      );
    if (kind === 'functionCall' && !isModel)
      throw invalid(pathText([...place, kind]), 'Only a content with the role `model` may have function calls.');
    if ((kind === 'functionResponse' || kind === 'fileData') && isModel)
      throw invalid(pathText([...place, kind]), `A content with the role \`model\` may not have \`${kind}\`.`);
    if (kind === 'fileData') checkFile(part, [...place, kind]);
  }
}

/** A part may have a signature only. */
function checkUnknown(part: Part, at: OriginalPath): void {
  const unknown = Object.keys(part).find((name) => !COMPANIONS.has(name));
  if (unknown !== undefined) {
    const param = pathText([...at, unknown.slice(0, 64)]);
    throw unsupported(param, `\`${param}\` is not supported. A part has one of ${KINDS.join(', ')}.`);
  }
  if (part.thoughtSignature === undefined)
    throw invalid(pathText(at), `\`${pathText(at)}\` is empty. A part has one of ${KINDS.join(', ')}.`);
}

const ADDRESS = /^https?:\/\//i;
/** Addresses that only Google itself can read: uploaded files, and videos. */
const GOOGLES = /^(?:[a-z0-9-]+\.)*(?:googleapis\.com|youtube\.com|youtube-nocookie\.com|youtu\.be)$/;

function checkFile({ fileData }: Part, at: OriginalPath): void {
  const { fileUri = '', mimeType } = fileData ?? {};
  const param = pathText([...at, 'fileUri']);
  const host = URL.parse(fileUri)?.hostname ?? '';
  if (!ADDRESS.test(fileUri) || GOOGLES.test(host))
    throw unsupported(
      param,
      'Files that were uploaded to Google are not supported. Send the data as `inlineData`, or the https address of an image.',
    );
  if (mimeType !== undefined && !mimeType.toLowerCase().startsWith('image/'))
    throw unsupported(param, 'Only images may be sent as an address. Send other files as `inlineData`.');
}

function checkSystem({ systemInstruction }: GenerateRequest): void {
  const parts = systemInstruction?.parts ?? [];
  const at = parts.findIndex(({ text }) => text === undefined);
  if (at >= 0) throw invalid(`systemInstruction.parts[${at}]`, 'The system instruction may have only texts.');
}

function checkTools({ tools = [], toolConfig }: GenerateRequest): void {
  for (const [i, tool] of tools.entries()) {
    const own = Object.keys(tool).find((name) => name !== 'functionDeclarations' && Reflect.get(tool, name) != null);
    if (own === undefined) continue;
    const param = pathText(['tools', i, own.slice(0, 64)]);
    throw unsupported(
      param,
      `\`${param}\` is a tool of Google’s own service and is not supported. Only functions are.`,
    );
  }
  const { mode = 'AUTO', allowedFunctionNames: allowed = [] } = toolConfig?.functionCallingConfig ?? {};
  const param = 'toolConfig.functionCallingConfig';
  const offered = new Set(
    tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
  );
  if (mode === 'ANY' && offered.size === 0)
    throw invalid(`${param}.mode`, 'The mode `ANY` requires functions in `tools`.');
  for (const [i, name] of allowed.entries()) checkOffered(name, offered, `${param}.allowedFunctionNames[${i}]`);
}

const LEVELS = /^(?:thinking_level_unspecified|minimal|low|medium|high)$/i;

function checkConfig({ generationConfig: config }: GenerateRequest): void {
  if (!config) return;
  const at = 'generationConfig';
  const { responseMimeType: type, responseSchema, responseJsonSchema, responseModalities: modalities = [] } = config;
  if (responseSchema && responseJsonSchema)
    throw invalid(`${at}.responseJsonSchema`, 'Send only one of `responseSchema` and `responseJsonSchema`.');
  if (type !== undefined && type !== 'text/plain' && type !== 'application/json')
    throw unsupported(`${at}.responseMimeType`, '`responseMimeType` must be `text/plain` or `application/json`.');
  if (type === 'text/plain' && (responseSchema || responseJsonSchema))
    throw invalid(`${at}.responseMimeType`, 'A schema of the answer requires `responseMimeType: "application/json"`.');
  if (modalities.some((one) => one.toUpperCase() !== 'TEXT'))
    throw unsupported(`${at}.responseModalities`, 'Only text output is supported.');
  if (config.logprobs !== undefined && config.logprobs > 0 && !config.responseLogprobs)
    throw invalid(`${at}.logprobs`, '`logprobs` requires `responseLogprobs: true`.');
  const { thinkingLevel: level } = config.thinkingConfig ?? {};
  if (level !== undefined && !LEVELS.test(level))
    throw invalid(`${at}.thinkingConfig.thinkingLevel`, '`thinkingLevel` must be one of MINIMAL, LOW, MEDIUM, HIGH.');
}

/** Google's names of models begin with `models/`. */
export const withoutPrefix = (model: string): string => model.replace(/^models\//, '');

/**
 * Returns the body with the model of its path, in one form. A body that states no valid name keeps what it states, so that its schema refuses
 * it.
 * @param model undefined for a body that names its model itself
 */
export function bodyWithModel(body: unknown, model: string | undefined): unknown {
  if (!isObject(body)) return body;
  const isWrong = body.model != null && !Value.Check(ModelName, body.model);
  const stated = isWrong ? body.model : (model ?? body.model);
  return { ...body, ...(typeof stated === 'string' && { model: withoutPrefix(stated) }) };
}
