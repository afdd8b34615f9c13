import { h } from './dom.ts';

const MOST_LETTERS = 200;

/**
 * Asks an operator to confirm an operation by the name of its object, and for a reason.
 *
 * @returns the reason; null if the operator does not go on
 */
export function confirmByName(operation: string, name: string): Promise<string | null> {
  const typed = h('input', { id: 'confirmed', required: true, autocomplete: 'off', pattern: patternOf(name) });
  const reason = h('input', { id: 'reason', required: true, autocomplete: 'off', maxlength: String(MOST_LETTERS) });
  const dialog = h('dialog', { 'aria-label': operation });
  return new Promise((resolve) => {
    const end = (answer: string | null) => {
      dialog.remove();
      resolve(answer);
    };
    const submit = (event: Event) => {
      event.preventDefault();
      end(reason.value.trim());
    };
    dialog.append(
      h('h2', {}, operation),
      h(
        'form',
        { submit },
        h('label', { for: 'confirmed' }, `Type ${name} to confirm`),
        typed,
        h('label', { for: 'reason' }, 'Reason, for the audit log'),
        reason,
        h('button', { class: 'danger' }, operation),
        h('button', { type: 'button', click: () => end(null) }, 'Cancel')
      )
    );
    dialog.addEventListener('cancel', () => end(null));
    document.body.append(dialog);
    dialog.showModal();
    typed.focus();
  });
}

/** Returns the pattern of one text and no other. */
function patternOf(text: string): string {
  return text.replace(/[^\w]/g, (letter) => `\\${letter}`);
}
