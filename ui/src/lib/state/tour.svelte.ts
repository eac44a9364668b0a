// Whether the tour is shown. It outlives the screen on which it was begun, because that screen changes with its steps.
export const tour = $state({ isOpen: false });
