/** Bodies of every dialect that have a text in every place where the dialect has one, by the name of the dialect's surface. */
export const FULL_BODIES: Readonly<Record<string, object>> = {
  'openai-chat': {
    model: 'best',
    user: 'user-7',
    metadata: { team: 'search' },
    stop: ['END'],
    prediction_hint: { note: 'unknown member', signature: 's', encrypted_content: 'e' },
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      {
        role: 'user',
        name: 'Ada',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: 'https://pictures.example/a.png', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_id: 'file-1' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Let me look.',
        refusal: 'Not that.',
        reasoning_content: 'I should look.',
        reasoning_details: [{ type: 'reasoning.text', text: 'I think.', signature: 'c2ln' }],
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'look', arguments: '{"at": {"id": "x", "paths": ["a", "b"]}, "note": "n"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '{"seen": true}' },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'look',
          description: 'Looks.',
          parameters: { type: 'object', properties: { at: { type: 'string', description: 'Where.', enum: ['a'] } } },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'look' } },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'answer', description: 'It.', schema: { type: 'object', title: 'T' } },
    },
  },
  'anthropic-messages': {
    model: 'best',
    max_tokens: 100,
    metadata: { user_id: 'user-7' },
    stop_sequences: ['END'],
    container: 'container_1',
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          {
            type: 'document',
            title: 'A',
            context: 'C',
            source: { type: 'text', media_type: 'text/plain', data: 'Text.' },
          },
          { type: 'search_result', source: 'https://a.example', title: 'S', content: [{ type: 'text', text: 'R' }] },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I think.', signature: 'c2ln' },
          { type: 'redacted_thinking', data: 'c2ln' },
          { type: 'text', text: 'Let me look.', citations: [{ type: 'char_location', cited_text: 'Cited.' }] },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: { id: 'x', paths: ['a'] }, note: 'n' } },
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: [{ type: 'web_search_result', url: 'https://b.example', title: 'B', encrypted_content: 'c2ln' }],
          },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'Seen.' }] }],
      },
    ],
    tools: [
      {
        name: 'look',
        description: 'Looks.',
        input_schema: { type: 'object', properties: { at: { type: 'string' } } },
        input_examples: [{ at: 'x', signature: 's', encrypted_content: 'e', thought_signature: 't' }],
      },
      { type: 'web_search_20250305', name: 'web_search', allowed_domains: ['a.example'] },
    ],
    tool_choice: { type: 'tool', name: 'look' },
  },
  'google-gemini': {
    model: 'best',
    metadata: { team: 'search' },
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'What is it?' }, { fileData: { fileUri: 'https://pictures.example/a.png' } }] },
      {
        role: 'model',
        parts: [
          { text: 'I think.', thought: true },
          { text: 'Let me look.' },
          { functionCall: { id: 'call_1', name: 'look', args: { at: { id: 'x', signature: 's' }, note: 'n' } } },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'call_1', name: 'look', response: { id: 'x', type: 't', signature: 's' } } }],
      },
    ],
    tools: [
      {
        functionDeclarations: [
          {
            name: 'look',
            description: 'Looks.',
            parameters: { type: 'OBJECT', properties: { at: { type: 'STRING', description: 'Where.' } } },
          },
        ],
      },
    ],
    generationConfig: { stopSequences: ['END'], responseJsonSchema: { type: 'object', title: 'T' } },
  },
  'openai-responses': {
    model: 'best',
    user: 'user-7',
    metadata: { team: 'search' },
    prompt_cache_key: 'cache-1',
    instructions: 'Be brief.',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is it?' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_file', filename: 'a.pdf', file_id: 'file-1' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'I think.' }],
        encrypted_content: 'c2ln',
      },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at": {"id": "x"}}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Seen.' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'run', input: 'print(1)' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: '1' }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      {
        role: 'assistant',
        content: [{ type: 'output_text', text: 'It is.', annotations: [{ url: 'https://c.example' }] }],
      },
    ],
    tools: [
      { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object', title: 'T' } },
      { type: 'custom', name: 'run', description: 'Runs.' },
      { type: 'mcp', server_label: 'mine', server_url: 'https://mcp.example', authorization: 'token-of-the-tool' },
    ],
    text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object', title: 'T' } } },
  },
  'openai-embeddings': { model: 'best', input: ['One text.', 'Another text.'], user: 'user-7' },
};
