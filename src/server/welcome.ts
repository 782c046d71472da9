/** What a new operator needs first: the address and a line that works when pasted. */
export function welcome(address: string, key: string | null, simulated: boolean): string {
  // In double quotes, so that a shell fills the variable in; a key holds nothing that it would touch.
  const shown = key ?? '$SIGNALBOX_KEY';
  const body = '{"model":"auto","messages":[{"role":"user","content":"Say hello."}]}';
  return [
    '',
    `  Signalbox is ready at ${address}, its documentation at ${address}/docs`,
    ...(simulated ? ['  No provider has a key, so simulated models answer; see “Real providers” in the README.'] : []),
    ...(key ? ['', '  Your API key, shown this once:', `  ${key}`] : []),
    '',
    '  Try it:',
    `  curl ${address}/v1/chat/completions -H "authorization: Bearer ${shown}" -H 'content-type: application/json' -d '${body}'`,
    '',
    '',
  ].join('\n');
}
