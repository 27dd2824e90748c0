(function () {
  var flame = document.currentScript.previousElementSibling;
  var frames = Array.from(flame.querySelectorAll('svg svg'));
  function left(frame) { return Number(frame.dataset.x); }
  function level(frame) { return Number(frame.getAttribute('aria-level')); }
  function zoom(from, width) {
    frames.forEach(function (frame) {
      var start = (left(frame) - from) / width;
      var end = start + Number(frame.dataset.w) / width;
      var shown = Math.min(end, 1) - Math.max(start, 0) > 0.0004;
      frame.style.display = shown ? '' : 'none';
      frame.setAttribute('x', Math.max(start, 0) * 100 + '%');
      frame.setAttribute('width', Math.max(Math.min(end, 1) - Math.max(start, 0), 0) * 100 + '%');
    });
  }
  function enlarge(frame) { zoom(left(frame), Number(frame.dataset.w)); }
  // Frames are in the order of a walk down the tree. One of them at a time is a stop of Tab.
  function next(frame, key) {
    var at = frames.indexOf(frame), i;
    if (key === 'ArrowDown') {
      var below = frames[at + 1];
      return below ? (level(below) > level(frame) ? below : null) : null;
    }
    if (key === 'Home') { return frames[0]; }
    var wanted = level(frame) - (key === 'ArrowUp' ? 1 : 0);
    var step = key === 'ArrowRight' ? 1 : -1;
    for (i = at + step; frames[i]; i += step) {
      if (level(frames[i]) !== wanted) { continue; }
      if (frames[i].style.display !== 'none') { return frames[i]; }
    }
    return null;
  }
  frames.forEach(function (frame) {
    frame.addEventListener('click', function () { enlarge(frame); });
    frame.addEventListener('keydown', function (event) {
      if (event.key === 'Enter' || event.key === ' ') {
        enlarge(frame);
      } else if (/^(Arrow(Up|Down|Left|Right)|Home)$/.test(event.key)) {
        var to = next(frame, event.key);
        if (to) {
          frame.setAttribute('tabindex', '-1');
          to.setAttribute('tabindex', '0');
          to.focus();
        }
      } else {
        return;
      }
      event.preventDefault();
    });
  });
  flame.querySelector('button').addEventListener('click', function () { zoom(0, 1); });
})();
