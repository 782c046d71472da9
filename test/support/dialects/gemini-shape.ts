import { isObject } from '../../../plugins/providers/json.ts';

/**
 * The members of a Google message type. A member has the shape of another message, or is a value that is not checked. A list or map of
 * messages has the shape of its items.
 */
interface Shape {
  readonly [name: string]: Shape | Of | null;
}
/** A map with any names, or the shape that is being described. */
type Of = { readonly each: Shape | 'itself' } | 'itself';

const values = (names: string): Record<string, null> =>
  Object.fromEntries(names.split(' ').map((name) => [name, null]));

const BLOB: Shape = values('data displayName mimeType');
const FILE: Shape = values('displayName fileUri mimeType');

const CONTENT: Shape = {
  role: null,
  parts: {
    ...values(
      'text thought thoughtSignature toolCall toolResponse codeExecutionResult executableCode mediaResolution videoMetadata partMetadata mediaProcessing speechMetadata audioTranscription',
    ),
    inlineData: BLOB,
    fileData: FILE,
    functionCall: values('args id name'),
    functionResponse: {
      ...values('id name response scheduling willContinue'),
      parts: { inlineData: BLOB, fileData: FILE },
    },
  },
};

const SCHEMA: Shape = {
  ...values(
    'type format title description nullable default enum example pattern required minimum maximum minItems maxItems minLength maxLength minProperties maxProperties propertyOrdering',
  ),
  items: 'itself',
  anyOf: 'itself',
  properties: { each: 'itself' },
};

/**
 * What the SDK sends to the Gemini API. Source: `generateContentParametersToMldev` and the functions that it calls in @google/genai 2.32.0.
 */
const REQUEST: Shape = {
  ...values('cachedContent serviceTier labels continuationToken store'),
  contents: CONTENT,
  systemInstruction: CONTENT,
  safetySettings: values('category threshold'),
  tools: {
    ...values(
      'googleMaps mcpServers codeExecution computerUse googleSearch googleSearchRetrieval urlContext fileSearch',
    ),
    functionDeclarations: {
      ...values('name description parametersJsonSchema responseJsonSchema behavior'),
      parameters: SCHEMA,
      response: SCHEMA,
    },
  },
  toolConfig: {
    ...values('retrievalConfig includeServerSideToolInvocations'),
    functionCallingConfig: values('allowedFunctionNames mode'),
  },
  generationConfig: {
    ...values(
      'temperature topP topK candidateCount maxOutputTokens stopSequences responseLogprobs logprobs presencePenalty frequencyPenalty seed responseMimeType responseJsonSchema responseModalities mediaResolution speechConfig audioTranscriptionConfig imageConfig enableEnhancedCivicAnswers',
    ),
    responseSchema: SCHEMA,
    thinkingConfig: values('includeThoughts thinkingBudget thinkingLevel'),
  },
};

/** A name that Google's parser does not know, and the location of its parent. Absent if the parser knows all names. */
export interface Unknown {
  readonly name: string;
  readonly at: string;
}

export function unknownNames(request: unknown): readonly Unknown[] {
  return unknownIn(request, REQUEST, '');
}

function unknownIn(value: unknown, shape: Shape, at: string): readonly Unknown[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => unknownIn(item, shape, `${at}[${index}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const path = at === '' ? snake(name) : `${at}.${snake(name)}`;
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (inner === undefined) return [{ name, at }];
    if (inner === null) return [];
    if (inner === 'itself') return unknownIn(member, shape, path);
    if (!('each' in inner)) return unknownIn(member, inner, path);
    // Google's errors number the entries of a map: `properties[0].value`.
    return Object.values(Object(member)).flatMap((item, index) => unknownIn(item, shape, `${path}[${index}].value`));
  });
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
