/** All that the editor needs, loaded when one opens: nothing else imports CodeMirror. */
export { openComparison } from './compare.ts';
export { openEditor } from './open.ts';
