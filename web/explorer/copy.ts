const TOLD_MS = 1_500;

/** Adds a button to each text that somebody may want to copy. */
export function addCopyButtons(): void {
  if (!navigator.clipboard) return;
  for (const text of document.querySelectorAll<HTMLElement>('[data-copy]')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'copy';
    button.setAttribute('aria-label', `copy the ${text.dataset['copy']}`);
    button.addEventListener('click', () => void copy(text.textContent ?? '', button));
    text.after(button);
  }
}

async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const isDone = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false
  );
  button.textContent = isDone ? 'copied' : 'not copied';
  setTimeout(() => {
    button.textContent = 'copy';
  }, TOLD_MS);
}
