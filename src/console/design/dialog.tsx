import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

interface DialogProps {
  /** Repeats the object: "Revoke billing-app?" */
  readonly title: string;
  /** The result: "Requests with it fail within a second." */
  readonly children: ComponentChildren;
  /** The verb and the object: "Revoke key". */
  readonly action: string;
  readonly isBusy?: boolean;
  onAction(): void;
  onClose(): void;
}

/** Asks before something is destroyed, and for nothing else. Shown while it is in the tree. */
export function Dialog({ title, children, action, isBusy, onAction, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // As in a panel, its end gives the focus back at once.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      shown?.close();
      // The dialog is out of the page by now, so the browser gives nothing back.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onCancel={onClose}>
      <div class="stack-tight">
        <h2 id={id}>{title}</h2>
        <div class="dim">{children}</div>
      </div>
      <div class="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger-first" disabled={isBusy} onClick={onAction}>
          {action}
        </Button>
      </div>
    </dialog>
  );
}
