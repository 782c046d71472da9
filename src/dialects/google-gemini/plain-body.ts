import { isObject } from '../../core/json/object.ts';
import type { Members } from '../../core/json/original.ts';

/** The names of this dialect that have several words. Google also accepts each name in snake case. */
const NAMES = [
  ...['systemInstruction', 'generationConfig', 'toolConfig', 'safetySettings', 'cachedContent', 'serviceTier'],
  ...['functionDeclarations', 'parametersJsonSchema', 'functionCallingConfig', 'allowedFunctionNames'],
  ...['inlineData', 'fileData', 'mimeType', 'fileUri', 'displayName', 'functionCall', 'functionResponse'],
  ...['thoughtSignature', 'executableCode', 'codeExecutionResult', 'videoMetadata', 'mediaResolution'],
  ...['maxOutputTokens', 'candidateCount', 'stopSequences', 'topP', 'topK', 'presencePenalty', 'frequencyPenalty'],
  ...['responseLogprobs', 'responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseModalities'],
  ...['thinkingConfig', 'includeThoughts', 'thinkingBudget', 'thinkingLevel', 'speechConfig', 'imageConfig'],
  ...['googleSearch', 'googleSearchRetrieval', 'codeExecution', 'urlContext', 'computerUse', 'fileSearch'],
  ...['generateContentRequest', 'outputDimensionality', 'taskType', 'retrievalConfig'],
] as const;

const CAMEL: ReadonlyMap<string, string> = new Map([
  ...NAMES.map((name) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name] as const),
  // An earlier name of the field, which client libraries still send.
  ['_responseJsonSchema', 'responseJsonSchema'],
]);

/** Members whose contents belong to the caller. */
const OPAQUE: ReadonlySet<string> = new Set([
  ...['args', 'response', 'parameters', 'parametersJsonSchema', 'responseSchema', 'responseJsonSchema'],
  ...['metadata', 'constraints', 'route_strategy'],
]);

/** Lists for which Google also accepts a single object. */
const LISTS: ReadonlySet<string> = new Set(['contents', 'parts', 'tools', 'functionDeclarations', 'requests']);

/**
 * Writes a body in one form: names in camel case, and lists as lists. Returns the same value if it has that form already.
 * @param value within the limits of depth and size of every body
 */
export function plainBody(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(plainBody);
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  return isObject(value) ? plainMembers(value) : value;
}

function plainMembers(owner: Members): Members {
  let isChanged = false;
  const entries = Object.entries(owner).flatMap(([name, value]): [string, unknown][] => {
    const known = CAMEL.get(name);
    // If both forms are there, the form of the documentation counts.
    if (known !== undefined && Object.hasOwn(owner, known)) {
      isChanged = true;
      return [];
    }
    const named = known ?? name;
    const inner = OPAQUE.has(named) ? value : plainBody(value);
    const plain = LISTS.has(named) && isObject(inner) ? [inner] : inner;
    isChanged ||= named !== name || plain !== value;
    return [[named, plain]];
  });
  return isChanged ? Object.fromEntries(entries) : owner;
}
