(function () {
  var flame = document.currentScript.previousElementSibling;
  var frames = Array.from(flame.querySelectorAll('svg svg'));
  function zoom(from, width) {
    frames.forEach(function (frame) {
      var start = (Number(frame.dataset.x) - from) / width;
      var end = start + Number(frame.dataset.w) / width;
      var shown = Math.min(end, 1) - Math.max(start, 0) > 0.0004;
      frame.style.display = shown ? '' : 'none';
      frame.setAttribute('x', Math.max(start, 0) * 100 + '%');
      frame.setAttribute('width', Math.max(Math.min(end, 1) - Math.max(start, 0), 0) * 100 + '%');
    });
  }
  frames.forEach(function (frame) {
    frame.addEventListener('click', function () {
      zoom(Number(frame.dataset.x), Number(frame.dataset.w));
    });
  });
  flame.querySelector('button').addEventListener('click', function () { zoom(0, 1); });
})();
