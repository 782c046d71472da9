import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/**
 * The editor's appearance. The editor uses the console's colours, which the shadow root inherits. The editor library marks diagnostics with
 * pictures in `data:` URLs, which the page's content security policy refuses, so lines and signs replace them.
 */
const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--paper)', fontSize: '13px', maxHeight: 'inherit' },
  // The frame around the editor shows the focus.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px', overflow: 'auto' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 12px 0 4px' },
  '.cm-gutters': { backgroundColor: 'var(--paper)', color: 'var(--dim)', border: '0' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 8px 0 12px', minWidth: '32px', cursor: 'pointer' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--sunk) 70%, transparent)' },
  '.cm-selectionMatch, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)' },
  '.cm-gutter-lint': { width: '16px' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '0' },
  '.cm-lint-marker': { width: '16px', height: '20px', textAlign: 'center', fontWeight: '600' },
  '.cm-lint-marker-error': { content: 'none', color: 'var(--bad)' },
  '.cm-lint-marker-error::before': { content: '"■"' },
  '.cm-lint-marker-warning': { content: 'none', color: 'var(--warn)' },
  '.cm-lint-marker-warning::before': { content: '"▲"' },
  '.cm-lintRange': { backgroundImage: 'none', paddingBottom: '0', textDecorationSkipInk: 'none' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)' },
  '.cm-lintRange-active': { backgroundColor: 'var(--bad-soft)' },
  '.cm-diagnostic': { padding: '4px 8px', border: '0', fontFamily: 'var(--font)' },
  '.cm-diagnostic-error': { color: 'var(--bad)' },
  '.cm-diagnostic-warning': { color: 'var(--warn)' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: '6px',
    backgroundColor: 'var(--paper)',
    color: 'var(--ink)',
    boxShadow: 'var(--shadow-float)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '260px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '4px 8px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--ink)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal' },
  '.cm-tooltip.cm-completionInfo, .cm-help': {
    padding: '8px 12px',
    maxWidth: 'min(400px, 80vw)',
    fontFamily: 'var(--font)',
    fontSize: '13px',
    lineHeight: '18px',
  },
  '.cm-panels': { backgroundColor: 'var(--sunk)', color: 'var(--ink)', borderColor: 'var(--line)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--font)', padding: '8px 32px 8px 12px' },
  '.cm-textfield, .cm-button': {
    border: '1px solid var(--edge)',
    borderRadius: '4px',
    backgroundColor: 'var(--paper)',
    backgroundImage: 'none',
    color: 'var(--ink)',
  },
  '.cm-foldPlaceholder': { border: '0', backgroundColor: 'var(--sunk)', color: 'var(--dim)' },
  '.cm-changedLine, .cm-inlineChangedLine': { backgroundColor: 'var(--good-soft) !important' },
  // Changed text is underlined, because a darker background would reduce the contrast of the text.
  '.cm-changedText': { background: 'none !important', boxShadow: 'inset 0 -2px 0 var(--good)' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': {
    background: 'none !important',
    boxShadow: 'inset 0 -2px 0 var(--bad)',
  },
  '.cm-changedLineGutter': { background: 'var(--good) !important' },
  '&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter': { background: 'var(--bad) !important' },
  '.cm-collapsedLines': { background: 'var(--sunk) !important', color: 'var(--dim)', fontFamily: 'var(--font)' },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: 'none !important' },
});

const words = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--warn)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--dim)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--dim)' },
]);

export const policyLook: Extension = [look, syntaxHighlighting(words)];

/** The shadow root of an editor. The shadow root uses constructed style sheets, which the page's content security policy allows. */
export const rootIn = (host: HTMLElement): ShadowRoot => host.shadowRoot ?? host.attachShadow({ mode: 'open' });
