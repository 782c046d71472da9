/** Conversations in the dialects of callers, for laws about the turns of a conversation. */

export const KINDS = ['user', 'assistant', 'call', 'call', 'image', 'file', 'state', 'system'] as const;

/** A step of a conversation: a message, or a call of a tool with its result. */
export interface Item {
  readonly kind: (typeof KINDS)[number];
  readonly text: string;
  /** Whether the caller marks the end of a prefix for the prompt cache. */
  readonly isMarked: boolean;
}

export interface Conversation {
  readonly system: string;
  readonly items: readonly Item[];
  /** The text in the descriptions of the tools. */
  readonly tools: string;
}

/** The changes of a conversation before its next turn. `at` is an index, which counts from the beginning again after the last item. */
export const EDITS = {
  append: ({ items }, { added }) => ({ items: [...items, ...added] }),
  repeat: () => ({}),
  replace: ({ items }, { at, added }) => ({ items: [...items.with(at % items.length, added[0]!), ...added] }),
  reword: ({ items }, { at, words }) => ({
    items: items.with(at % items.length, { ...items[at % items.length]!, text: words }),
  }),
  mark: ({ items }, { at }) => ({
    items: items.map((one, index) => ({ ...one, isMarked: index === at % items.length })),
  }),
  remove: ({ items }, { at }) => ({ items: items.toSpliced(1 + (at % items.length), 2) }),
  truncate: ({ items }, { at }) => ({ items: items.slice(0, 1 + (at % items.length)) }),
  system: ({ system }, { words }) => ({ system: system + words }),
  tools: (_, { words }) => ({ tools: words }),
} as const satisfies Record<string, (before: Conversation, edit: EditValues) => Partial<Conversation>>;

interface EditValues {
  readonly at: number;
  readonly added: readonly Item[];
  readonly words: string;
}

export interface Edit extends EditValues {
  readonly kind: keyof typeof EDITS;
}

export const edited = (before: Conversation, edit: Edit): Conversation => ({
  ...before,
  ...EDITS[edit.kind](before, edit),
});

/** How a request is sent. */
export interface Sending {
  readonly model: string;
  readonly isStream: boolean;
}

type Members = Readonly<Record<string, unknown>>;

export interface TurnDialect {
  readonly name: string;
  path(sending: Sending): string;
  body(conversation: Conversation, sending: Sending): object;
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Page>>endobj\n%%EOF').toString('base64');
const MARK = { cache_control: { type: 'ephemeral' } };
const parameters = { type: 'object', properties: { note: { type: 'string' } } };
const NAMES = ['read', 'write'];
const marked = ({ isMarked }: Item): object => (isMarked ? MARK : {});

function chatItem(item: Item, at: number): readonly Members[] {
  const { kind, text } = item;
  const part = { type: 'text', text, ...marked(item) };
  const id = `call_${at}`;
  const url = `data:image/png;base64,${PNG}`;
  const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` };
  const called = { id, type: 'function', function: { name: 'read', arguments: JSON.stringify({ note: text }) } };
  switch (kind) {
    case 'user':
      return [{ role: 'user', content: item.isMarked ? [part] : text }];
    case 'system':
      return [{ role: 'system', content: text }];
    case 'assistant':
      return [{ role: 'assistant', content: text }];
    case 'state':
      return [{ role: 'assistant', content: text, reasoning_content: `Thought: ${text}` }];
    case 'image':
      return [{ role: 'user', content: [part, { type: 'image_url', image_url: { url } }] }];
    case 'file':
      return [{ role: 'user', content: [part, { type: 'file', file }] }];
    case 'call':
      return [
        { role: 'assistant', content: null, tool_calls: [called] },
        { role: 'tool', tool_call_id: id, content: text },
      ];
  }
}

function messageItem(item: Item, at: number): readonly Members[] {
  const { kind, text } = item;
  const part = { type: 'text', text, ...marked(item) };
  const id = `toolu_${at}`;
  const result = { type: 'tool_result', tool_use_id: id, content: text, ...marked(item) };
  const base64 = (media_type: string, data: string) => ({ source: { type: 'base64', media_type, data } });
  switch (kind) {
    case 'user':
      return [{ role: 'user', content: item.isMarked ? [part] : text }];
    case 'system':
      return [{ role: 'user', content: [{ type: 'text', text: `<reminder>${text}</reminder>` }, part] }];
    case 'assistant':
      return [{ role: 'assistant', content: [part] }];
    case 'state':
      return [{ role: 'assistant', content: [{ type: 'thinking', thinking: text, signature: 'c2lnbmVk' }, part] }];
    case 'image':
      return [{ role: 'user', content: [part, { type: 'image', ...base64('image/png', PNG) }] }];
    case 'file':
      return [{ role: 'user', content: [part, { type: 'document', ...base64('application/pdf', PDF) }] }];
    case 'call':
      return [
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: { note: text } }] },
        { role: 'user', content: [result] },
      ];
  }
}

function inputItem({ kind, text }: Item, at: number): readonly Members[] {
  const part = { type: 'input_text', text };
  const id = `call_${at}`;
  const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${PDF}` };
  const answer = { role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] };
  switch (kind) {
    case 'user':
      return [{ role: 'user', content: text }];
    case 'system':
      return [{ role: 'developer', content: text }];
    case 'assistant':
      return [{ type: 'message', ...answer }];
    case 'state':
      return [
        { type: 'reasoning', id: `rs_${at}`, summary: [], encrypted_content: Buffer.from(text).toString('base64') },
        { type: 'message', ...answer },
      ];
    case 'image':
      return [{ role: 'user', content: [part, { type: 'input_image', image_url: `data:image/png;base64,${PNG}` }] }];
    case 'file':
      return [{ role: 'user', content: [part, { type: 'input_file', ...file }] }];
    case 'call':
      return [
        { type: 'reasoning', summary: [{ type: 'summary_text', text }] },
        { type: 'function_call', call_id: id, name: 'read', arguments: JSON.stringify({ note: text }) },
        { type: 'function_call_output', call_id: id, output: text },
      ];
  }
}

function contentItem({ kind, text }: Item, at: number): readonly Members[] {
  const id = `call_${at}`;
  const inline = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } });
  switch (kind) {
    case 'user':
    case 'system':
      return [{ role: 'user', parts: [{ text }] }];
    case 'assistant':
      return [{ role: 'model', parts: [{ text }] }];
    case 'state':
      return [{ role: 'model', parts: [{ text, thoughtSignature: 'c2lnbmVk' }] }];
    case 'image':
      return [{ role: 'user', parts: [{ text }, inline('image/png', PNG)] }];
    case 'file':
      return [{ role: 'user', parts: [{ text }, inline('application/pdf', PDF)] }];
    case 'call':
      return [
        { role: 'model', parts: [{ functionCall: { id, name: 'read', args: { note: text } } }] },
        { role: 'user', parts: [{ functionResponse: { id, name: 'read', response: { output: text } } }] },
      ];
  }
}

const toolsOf = (tools: string) => NAMES.map((name) => ({ name, description: `${name}: ${tools}` }));

export const TURN_DIALECTS: readonly TurnDialect[] = [
  {
    name: 'chat',
    path: () => '/v1/chat/completions',
    body: ({ system, items, tools }, { model, isStream }) => ({
      model,
      max_tokens: 200,
      messages: [{ role: 'system', content: system }, ...items.flatMap(chatItem)],
      tools: toolsOf(tools).map((tool) => ({ type: 'function', function: { ...tool, parameters } })),
      ...(isStream && { stream: true, stream_options: { include_usage: true } }),
    }),
  },
  {
    name: 'messages',
    path: () => '/v1/messages',
    body: ({ system, items, tools }, { model, isStream }) => ({
      model,
      max_tokens: 200,
      system: [{ type: 'text', text: system, ...MARK }],
      messages: items.flatMap(messageItem),
      tools: toolsOf(tools).map((tool) => ({ ...tool, input_schema: parameters })),
      stream: isStream,
    }),
  },
  {
    name: 'responses',
    path: () => '/v1/responses',
    body: ({ system, items, tools }, { model, isStream }) => ({
      model,
      max_output_tokens: 200,
      store: false,
      include: ['reasoning.encrypted_content'],
      instructions: system,
      input: items.flatMap(inputItem),
      tools: toolsOf(tools).map((tool) => ({ type: 'function', ...tool, parameters, strict: false })),
      stream: isStream,
    }),
  },
  {
    name: 'gemini',
    path: ({ model, isStream }) =>
      `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: ({ system, items, tools }) => ({
      systemInstruction: { parts: [{ text: system }] },
      contents: items.flatMap(contentItem),
      tools: [{ functionDeclarations: toolsOf(tools).map((tool) => ({ ...tool, parameters })) }],
      generationConfig: { maxOutputTokens: 200 },
    }),
  },
];
